#include "app/gui/models/bubble_table_model.h"

#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"

#include <QFont>

#include <algorithm>

namespace bubblescope::gui {

namespace {

const QString kNothing = QStringLiteral("–");

} // namespace

void BubbleTableModel::show(SessionPtr session, int step) {
    beginResetModel();
    session_ = std::move(session);
    step_ = session_ ? step : -1;
    rows_.clear();
    if (step_ >= 0) {
        const StepAnalysis& analysis = session_->analysis(step_);
        for (const RankAccount& account : analysis.ranks)
            addRank(analysis, account);
    }
    endResetModel();
}

void BubbleTableModel::addRank(const StepAnalysis& analysis, const RankAccount& account) {
    TimeNs as_run{0};
    TimeNs observed{0};
    for (std::size_t i = 0; i < kPositionCount; ++i) {
        const auto position = static_cast<Position>(i);
        as_run += account.executed[i];
        observed += account.observed[i];
        if (account.executed[i] == TimeNs{0} && account.observed[i] == TimeNs{0} && account.expected[i] == TimeNs{0})
            continue;
        Row row{account.rank.value, position, false, account.executed[i], account.observed[i], std::nullopt, {}, {}};
        if (analysis.positionsKnown()) row.form = account.expected[i];
        if (const PositionForm* form = findForm(analysis, account.rank, position)) {
            row.expression = fromUtf8(form->expression);
            row.domain = fromUtf8(form->domain);
        }
        rows_.push_back(std::move(row));
    }
    Row total{account.rank.value, std::nullopt, false, as_run, observed, account.expected_bubble, {}, {}};
    if (analysis.form) total.expression = translatedText(analysis.form->bubble_expression);
    rows_.push_back(std::move(total));
    const TimeNs wait = session_->range(replicaWait(account.rank.value)).length();
    if (wait > TimeNs{0})
        rows_.push_back({account.rank.value, std::nullopt, true, wait, TimeNs{0}, std::nullopt, {}, {}});
}

QString BubbleTableModel::text(const Row& row, int column) const {
    const StepAnalysis& analysis = session_->analysis(step_);
    switch (column) {
    case RankColumn: return QString::number(row.rank);
    case PositionColumn:
        return row.position ? positionText(analysis, *row.position)
               : row.wait   ? tr("waiting for replicas")
                            : tr("total");
    case AsRun: return shortTime(row.as_run);
    case Observed: return row.wait ? kNothing : shortTime(row.observed);
    case Form: return row.form ? shortTime(*row.form) : kNothing;
    case Difference: return row.form ? timeDelta(row.observed - *row.form) : kNothing;
    case Percent: {
        const QVariant fraction = raw(row, Percent);
        return fraction.isValid() ? percentDelta(fraction.toDouble()) : kNothing;
    }
    case Expression: return row.expression.isEmpty() ? kNothing : row.expression;
    default: return {};
    }
}

QVariant BubbleTableModel::raw(const Row& row, int column) const {
    const auto ns = [](TimeNs time) { return QVariant::fromValue<qlonglong>(time.count()); };
    switch (column) {
    case RankColumn: return row.rank;
    case PositionColumn:
        return row.position ? static_cast<int>(*row.position) : static_cast<int>(kPositionCount) + row.wait;
    case AsRun: return ns(row.as_run);
    case Observed: return ns(row.observed);
    case Form: return row.form ? ns(*row.form) : QVariant();
    case Difference: return row.form ? ns(row.observed - *row.form) : QVariant();
    case Percent:
        if (!row.form || *row.form == TimeNs{0}) return {};
        return fractionOf(row.observed - *row.form, *row.form);
    default: return text(row, column);
    }
}

std::vector<ColumnModel::Column> BubbleTableModel::columns() const {
    return {{tr("Rank")},
            {tr("Position")},
            {tr("As run"), true, tr("Idle time at this position, as executed.")},
            {tr("Observed"), true,
             tr("Idle time at this position after consolidation: ops are moved later within their slack, so idle time "
                "gathers where the closed form counts it. The step time does not change.")},
            {tr("Closed form"), true, tr("Value of the schedule's formula for the typical op times of this step.")},
            {tr("Difference"), true, tr("Observed minus closed form.")},
            {tr("Diff. %"), true},
            {tr("Expression")}};
}

QVariant BubbleTableModel::cell(std::size_t row_index, int column, int role) const {
    const Row& row = rows_[row_index];
    switch (role) {
    case Qt::DisplayRole: return text(row, column);
    case kSortRole: return raw(row, column);
    case kTotalRole: return !row.position && !row.wait;
    case Qt::ToolTipRole:
        if (column == Expression && !row.domain.isEmpty()) return tr("Holds for: %1").arg(row.domain);
        if (row.wait)
            return tr("Time from the end of the rank's own step to the end of the slowest replica's step. Not part of "
                      "the pipeline bubble.");
        return {};
    case Qt::FontRole:
        if (!row.position && !row.wait) {
            QFont font;
            font.setBold(true);
            return font;
        }
        return {};
    default: return {};
    }
}

ItemRef BubbleTableModel::longestBubble(int row) const {
    const Row& r = rows_[static_cast<std::size_t>(row)];
    if (r.wait) return replicaWait(r.rank);
    ItemRef best;
    TimeNs longest{0};
    const auto& bubbles = session_->analysis(step_).bubbles[static_cast<std::size_t>(r.rank)];
    for (std::size_t i = 0; i < bubbles.size(); ++i) {
        if (bubbles[i].position != r.position || bubbles[i].duration() <= longest) continue;
        longest = bubbles[i].duration();
        best = {ItemKind::Bubble, step_, r.rank, static_cast<std::int32_t>(i)};
    }
    return best;
}

TimeRange BubbleTableModel::extent(int row) const {
    const Row& r = rows_[static_cast<std::size_t>(row)];
    if (r.wait) return session_->range(replicaWait(r.rank));
    TimeRange range{TimeNs::max(), TimeNs::min()};
    for (const Bubble& bubble : session_->analysis(step_).bubbles[static_cast<std::size_t>(r.rank)]) {
        if (bubble.position != r.position) continue;
        range = {std::min(range.begin, bubble.start), std::max(range.end, bubble.end)};
    }
    return range.end < range.begin ? session_->window(step_) : range;
}

int BubbleTableModel::rankOf(int row) const {
    return rows_[static_cast<std::size_t>(row)].rank;
}

int BubbleTableModel::rowOf(const ItemRef& item) const {
    const bool wait = item.kind == ItemKind::ReplicaWait;
    if ((item.kind != ItemKind::Bubble && !wait) || item.step != step_) return -1;
    const Position position = wait ? Position{} : session_->bubble(item).position;
    const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
        return row.rank == item.rank && row.wait == wait && (wait || row.position == position);
    });
    return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

} // namespace bubblescope::gui
