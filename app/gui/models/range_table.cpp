#include "app/gui/models/range_table.h"

#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/rows.h"

#include <QLocale>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace bubblescope::gui {

namespace {

QString laneText(LaneKind lane) {
    switch (lane) {
    case LaneKind::Bubble: return tr("bubble");
    case LaneKind::Check: return tr("check");
    case LaneKind::Send: return tr("send");
    case LaneKind::Receive: return tr("receive");
    case LaneKind::Wait: return tr("wait");
    case LaneKind::Collective: return tr("collective");
    case LaneKind::ReplicaWait: return tr("wait for other replicas");
    case LaneKind::Exposed:
    case LaneKind::Compute: break;
    }
    return {};
}

/// Adds up the items in the range.
class RangeSum {
public:
    RangeSum(const Session& session, const TimeRange& range, std::stop_token stop, std::optional<int> only)
        : session_(session), range_(range), stop_(std::move(stop)), first_(only.value_or(0)),
          end_(only ? *only + 1 : static_cast<int>(session.lanes.lineCount())) {}

    void addLanes(RangeGroup group) {
        for (int line = first_; line < end_; ++line) {
            addLane(line, LaneKind::Compute, group);
            if (group != RangeGroup::Kind) continue;
            for (const LaneKind kind : {LaneKind::Bubble, LaneKind::Check, LaneKind::Send, LaneKind::Receive,
                                        LaneKind::Wait, LaneKind::Collective, LaneKind::ReplicaWait})
                addLane(line, kind, group);
        }
        if (group == RangeGroup::Kind) addRest();
    }

    void addSlices(const std::vector<TrackId>& tracks) {
        if (!session_.raw.any()) return;
        for (int line = first_; line < end_; ++line) {
            for (const RawLane& lane : session_.raw.of(line)) {
                if (stop_.stop_requested()) return;
                if (tracks.empty() || std::ranges::binary_search(tracks, lane.track)) addLane(line, lane);
            }
        }
        for (const auto& [name, sum] : sums_) {
            const std::string_view text = session_.run.trace->text(name);
            table_.rows.push_back(
                {fromUtf8(text), sum.count, sum.total, sum.self, sum.longest, session_.sliceItem(sum.line, sum.slice)});
        }
    }

    RangeTable take() {
        for (auto& [name, row] : named_)
            table_.rows.push_back(std::move(row));
        std::ranges::stable_sort(table_.rows, [](const RangeRow& a, const RangeRow& b) { return a.total > b.total; });
        return std::move(table_);
    }

private:
    /// Adds the remaining time, so that the shares add up to 100 %.
    void addRest() {
        TimeNs rest = range_.length() * (end_ - first_);
        for (const auto& [name, row] : named_)
            rest -= row.beside ? TimeNs{0} : row.total;
        if (rest <= TimeNs{0}) return;
        RangeRow row;
        row.name = tr("outside steps");
        row.total = rest;
        named_[row.name] = std::move(row);
    }

    /// The totals for the slices with one name.
    struct Sum {
        std::size_t count = 0;
        TimeNs total{0};
        TimeNs self{0};
        TimeNs longest{0};
        SliceId slice = kNoId;
        int line = 0;
    };

    void addLane(int line, const RawLane& lane) {
        const Trace& trace = *session_.run.trace;
        const TimeRange wanted = lane.toLaneTime(range_);
        std::vector<SliceId> open; // enclosing slices of the next slice
        const std::size_t before = table_.slices;
        for (const SliceId slice : session_.raw.row(lane, 0, 1).slices(wanted)) {
            const TimeRange own{trace.start(slice), trace.end(slice)};
            while (!open.empty() && trace.end(open.back()) <= own.begin)
                open.pop_back();
            const TimeNs shared = overlap(own, wanted);
            if (open.empty()) {
                table_.busy += shared;
            } else {
                sums_[trace.sliceNames()[open.back()]].self -= shared;
            }
            open.push_back(slice);
            Sum& sum = sums_[trace.sliceNames()[slice]];
            ++sum.count;
            ++table_.slices;
            sum.total += shared;
            sum.self += shared;
            if (sum.slice != kNoId && own.length() <= sum.longest) continue;
            sum.longest = own.length();
            sum.slice = slice;
            sum.line = line;
        }
        if (table_.slices > before) ++table_.lanes;
    }

    void addLane(int line, LaneKind kind, RangeGroup group) {
        const Lane& lane = session_.lanes.lane(static_cast<std::size_t>(line), kind);
        const int rank = session_.lanes.rankOf(line);
        for (std::size_t i = lane.firstEndingAfter(range_.begin); i < lane.spans().size(); ++i) {
            const Span& span = lane.spans()[i];
            if (span.start >= range_.end || stop_.stop_requested()) return;
            const TimeRange own{span.start, span.end};
            const TimeNs shared = overlap(own, range_);
            if (shared == TimeNs{0}) continue;
            const ItemRef item{itemKind(kind), span.step, rank, span.index};
            const QString name = kind == LaneKind::Compute ? nameOf(item, line, group) : laneText(kind);
            RangeRow& row = named_[name];
            row.name = name;
            row.beside = kind != LaneKind::Compute && kind != LaneKind::Bubble && kind != LaneKind::ReplicaWait;
            ++row.count;
            row.total += shared;
            if (own.length() <= row.longest) continue;
            row.longest = own.length();
            row.longest_item = item;
        }
    }

    [[nodiscard]] QString nameOf(const ItemRef& item, int line, RangeGroup group) const {
        const Op& op = session_.op(item).op;
        switch (group) {
        case RangeGroup::Op: return fromUtf8(opName(op));
        case RangeGroup::Rank: return lineName(session_, line);
        case RangeGroup::Stage:
            return op.kind == OpKind::Optimizer
                       ? opKindText(op.kind)
                       : tr("Stage %1").arg(session_.step(item.step).stageOf(Rank{item.rank}, op.chunk).value);
        case RangeGroup::Kind:
        case RangeGroup::Kernel: break;
        }
        return opKindText(op.kind);
    }

    const Session& session_;
    TimeRange range_;
    std::stop_token stop_;
    int first_; ///< line
    int end_;
    std::map<QString, RangeRow> named_;
    std::unordered_map<StringId, Sum> sums_;
    RangeTable table_;
};

} // namespace

RangeTable rangeTable(const Session& session, const TimeRange& range, RangeGroup group,
                      const std::vector<TrackId>& tracks, std::stop_token stop, std::optional<int> only) {
    RangeSum sum(session, range, std::move(stop), only);
    if (group == RangeGroup::Kernel) {
        sum.addSlices(tracks);
    } else {
        sum.addLanes(group);
    }
    return sum.take();
}

void RangeTableModel::show(std::vector<RangeRow> rows, TimeNs whole, const QString& name_title) {
    beginResetModel();
    rows_ = std::move(rows);
    whole_ = whole;
    name_title_ = name_title;
    endResetModel();
}

std::vector<ColumnModel::Column> RangeTableModel::columns() const {
    return {{name_title_},
            {tr("Count"), true},
            {tr("Total"), true, tr("Only time within the range")},
            {tr("Self"), true, tr("Excluding nested slices")},
            {tr("Mean"), true},
            {tr("Longest"), true},
            {tr("Share"), true, tr("Share of all ranks' time in the range")}};
}

QVariant RangeTableModel::cell(std::size_t row_index, int column, int role) const {
    const RangeRow& row = rows_[row_index];
    const bool sorts = role == kSortRole;
    if (role == Qt::ToolTipRole && row.beside && column == ShareColumn)
        return tr("Runs alongside ops and bubbles, so it has no share of its own");
    if (role != Qt::DisplayRole && !sorts) return {};
    if (row.count == 0 && column != NameColumn && column != TotalColumn && column != ShareColumn) return {};
    switch (column) {
    case NameColumn: return row.name;
    case CountColumn: {
        const auto count = static_cast<qulonglong>(row.count);
        return sorts ? QVariant(count) : QVariant(QLocale().toString(count));
    }
    case TotalColumn: return timeCell(row.total, role);
    case SelfColumn: return timeCell(row.self, role);
    case MeanColumn: return timeCell(row.mean(), role);
    case LongestColumn: return timeCell(row.longest, role);
    default: break;
    }
    if (row.beside) return {};
    const double share = fractionOf(row.total, whole_);
    return sorts ? QVariant(share) : QVariant(percent(share));
}

} // namespace bubblescope::gui
