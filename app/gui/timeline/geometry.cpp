#include "app/gui/timeline/geometry.h"

#include "app/gui/models/session_queries.h"
#include "app/gui/timeline/raw_geometry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr int kLaneMargin = 6; ///< space above and below a row's lanes
constexpr int kLaneGap = 2;
constexpr int kCommHeight = 12;
constexpr int kReferenceHeight = 16; ///< minimum; otherwise a third of the op band
constexpr int kMaxReferenceHeight = 40;
constexpr int kMaxViews = 4;       ///< maximum number of screens to scroll; beyond that, rows become compact
constexpr int kMinFreeHeight = 80; ///< minimum free pixels below pinned rows; otherwise, these scroll as well
constexpr int kManyRows = 32;      ///< with fewer rows, compact rows are used only on request
constexpr int kCompactGapFrom = 4; ///< compact rows at least this high have a gap of one line
constexpr std::array kCommLanes{LaneKind::Send, LaneKind::Receive, LaneKind::Wait, LaneKind::Collective};
/// Available heights of the op band.
constexpr std::array kHeights{
    RowLayout::kMinCompactHeight, 5, 8, 12, 18, RowLayout::kMinReadableHeight, 36, 54, 80, 110, 160, 220, 300,
    RowLayout::kMaxBandHeight};

} // namespace

RowLayout::RowLayout(const Lanes& lanes, int view_height, RowExtras extras)
    : row_of_line_(lanes.lineCount(), -1), extras_(std::move(extras)) {
    if (extras_.rows) {
        plan_ = *std::move(extras_.rows);
    } else {
        for (int line = 0; line < static_cast<int>(lanes.lineCount()); ++line)
            plan_.push_back({.line = line});
    }
    int rows = 0;
    for (int row = 0; row < rowCount(); ++row) {
        if (isHeader(row)) continue;
        row_of_line_[static_cast<std::size_t>(lineAt(row))] = row;
        ++rows;
    }
    if (lanes.uses(LaneKind::Compute))
        layOps(lanes, rows, view_height);
    else
        layLineNames();
    raw_tops_ = topsOf(extras_.raw_lanes);
    pinned_tops_ = topsOf(extras_.pinned_lanes);
    tops_.push_back(0);
    int pinned = 0;
    for (int row = 0; row < rowCount(); ++row) {
        const int counters = counterCount(row);
        tops_.push_back(tops_.back() + headHeight(row) + rawHeight(row) +
                        (counters > 0 ? counters * kCounterPitch + kLaneMargin : 0));
        if (plan_[static_cast<std::size_t>(row)].pinned) pinned = tops_.back();
    }
    if (pinned <= view_height - kMinFreeHeight) sticky_ = pinned;
}

/// Sets the height of the op bands to the requested height, or to a height that fits the number of rows.
void RowLayout::layOps(const Lanes& lanes, int rows, int view_height) {
    const int for_rows = view_height - (rowCount() - rows) * kGroupHeight;
    layBands(lanes, 0);
    const int fixed = row_height_;
    const int room = rows > 0 ? for_rows / rows : fixed + kMaxBandHeight;
    if (extras_.height > 0) {
        compact_ = extras_.height < kMinReadableHeight;
    } else {
        compact_ = rows >= kManyRows && rows * (fixed + kMinReadableHeight) > kMaxViews * std::max(1, view_height);
    }
    if (compact_)
        return layCompactRows(
            std::clamp(extras_.height > 0 ? extras_.height : room, kMinCompactHeight, kMinReadableHeight - 1));
    int free = room - fixed;
    // A reference takes a third of the op band, between its limits.
    if (const int both = free + kReferenceHeight; extras_.reference)
        free = std::min(free, std::max(both * 3 / 4, both - kMaxReferenceHeight));
    layBands(lanes, extras_.height > 0 ? std::min(extras_.height, kMaxBandHeight)
                                       : std::clamp(free, kMinReadableHeight, kMaxBandHeight));
}

int RowLayout::rowOf(int line) const {
    const auto at = static_cast<std::size_t>(line);
    return line >= 0 && at < row_of_line_.size() ? row_of_line_[at] : -1;
}

RowLayout::Tops RowLayout::topsOf(const std::vector<std::vector<RowExtras::RawShown>>& lines) {
    Tops tops(lines.size());
    for (std::size_t line = 0; line < tops.size(); ++line) {
        tops[line].push_back(0);
        for (const RowExtras::RawShown& lane : lines[line])
            tops[line].push_back(tops[line].back() + kRawPitch + (lane.rows - 1) * kDepthPitch);
    }
    return tops;
}

/// Requires raw lanes.
const std::vector<int>& RowLayout::rawTops(int row) const {
    return (isHeader(row) ? pinned_tops_ : raw_tops_)[static_cast<std::size_t>(rawLineAt(row))];
}

int RowLayout::rawHeight(int row) const {
    return rawCount(row) > 0 ? rawTops(row).back() + kLaneMargin : 0;
}

int RowLayout::rawTop(int row, int lane, int depth) const {
    const int within = lane == 0 ? 0 : rawTops(row)[static_cast<std::size_t>(lane)];
    return rowTop(row) + headHeight(row) + within + depth * kDepthPitch;
}

int RowLayout::counterCount(int row) const {
    if (compact_ || row < 0 || row >= rowCount() || isHeader(row)) return 0;
    const auto at = static_cast<std::size_t>(lineAt(row));
    return at < extras_.counters.size() ? extras_.counters[at] : 0;
}

int RowLayout::counterTop(int row, int lane) const {
    return rowTop(row) + row_height_ + rawHeight(row) + lane * kCounterPitch;
}

void RowLayout::layCompactRows(int height) {
    bands_ = {{LaneKind::Compute, 0, height >= kCompactGapFrom ? height - 1 : height}};
    reference_ = {};
    row_height_ = height;
}

/// Rows without ops have their name above their tracks.
void RowLayout::layLineNames() {
    bands_ = {{LaneKind::Compute, 0, kGroupHeight - 1}};
    row_height_ = kGroupHeight;
}

void RowLayout::layBands(const Lanes& lanes, int compute) {
    int top = kLaneMargin;
    bands_ = {{LaneKind::Compute, top, compute}};
    top += compute + kLaneGap;
    if (extras_.reference) {
        reference_ = {LaneKind::Compute, top, std::clamp(compute / 3, kReferenceHeight, kMaxReferenceHeight)};
        top += reference_.height + kLaneGap;
    }
    for (const LaneKind kind : kCommLanes) {
        if (!lanes.uses(kind) || !extras_.transfers) continue;
        bands_.push_back({kind, top, kCommHeight});
        top += kCommHeight + kLaneGap;
    }
    row_height_ = top - kLaneGap + kLaneMargin;
}

int RowLayout::otherHeight(int direction) const {
    const int now = compact_ ? row_height_ : bands_.empty() ? kMinReadableHeight : bands_.front().height;
    if (direction > 0) {
        const auto* const higher = std::ranges::upper_bound(kHeights, now);
        return higher == kHeights.end() ? kHeights.back() : *higher;
    }
    const auto* const lower = std::ranges::lower_bound(kHeights, now);
    return lower == kHeights.begin() ? kHeights.front() : *(lower - 1);
}

const std::vector<RowExtras::RawShown>& RowLayout::rawShown(int row) const {
    static const std::vector<RowExtras::RawShown> none;
    if (row < 0 || row >= rowCount() || rawLineAt(row) < 0) return none;
    const auto& lines = isHeader(row) ? extras_.pinned_lanes : extras_.raw_lanes;
    const auto at = static_cast<std::size_t>(rawLineAt(row));
    return at < lines.size() ? lines[at] : none;
}

int RowLayout::rowAt(int y) const {
    if (y < 0 || y >= contentHeight()) return -1;
    return static_cast<int>(std::upper_bound(tops_.begin(), tops_.end(), y) - tops_.begin()) - 1;
}

std::optional<LaneBand> RowLayout::bandAt(int y) const {
    const int row = rowAt(y);
    if (row < 0 || isHeader(row)) return std::nullopt;
    const int inside = y - rowTop(row);
    for (const LaneBand& band : bands_) {
        if (inside >= band.top && inside < band.top + band.height) return band;
    }
    return std::nullopt;
}

std::optional<RowLayout::RawPlace> RowLayout::rawAt(int y) const {
    const int row = rowAt(y);
    if (rawCount(row) == 0 || y < rawTop(row, 0)) return std::nullopt;
    const std::vector<int>& tops = rawTops(row);
    const auto lane = static_cast<int>(std::ranges::upper_bound(tops, y - rawTop(row, 0)) - tops.begin()) - 1;
    if (lane >= rawCount(row)) return std::nullopt;
    const int depth = (y - rawTop(row, lane)) / kDepthPitch;
    if (depth >= rawRows(row, lane) || y >= rawTop(row, lane, depth) + kRawHeight) return std::nullopt;
    return RawPlace{row, lane, depth};
}

QRectF BandPart::of(const QRectF& lane) const {
    const double top = std::round(from * lane.height());
    return {lane.left(), lane.top() + top, lane.width(), std::round(to * lane.height()) - top};
}

BandPart bandPartOf(const Session& session, const ItemRef& item) {
    if (item.kind == ItemKind::Check) return kCheckPart;
    const ItemRef other = otherHalf(session, item);
    if (!other) return {};
    const bool forward = session.op(item).op.kind == OpKind::Forward;
    const bool other_forward = session.op(other).op.kind == OpKind::Forward;
    const bool upper = forward != other_forward ? forward : item.index < other.index;
    return upper ? BandPart{0, 0.5} : BandPart{0.5, 1};
}

QRectF itemRect(const GeometryInput& input, const ItemRef& item) {
    if (!item) return {};
    if (item.kind == ItemKind::Slice) return rawItemRect(input, item);
    LaneKind lane = LaneKind::Compute;
    if (item.kind == ItemKind::Comm) {
        switch (input.session.comm(item).kind) {
        case CommKind::Send: lane = LaneKind::Send; break;
        case CommKind::Receive: lane = LaneKind::Receive; break;
        case CommKind::Wait: lane = LaneKind::Wait; break;
        case CommKind::Collective: lane = LaneKind::Collective; break;
        }
    }
    const int row = input.rows.rowOf(input.session.lanes.lineOf(item));
    if (row < 0) return {};
    const TimeRange range = input.session.range(item);
    const double pixel = 1 / input.device_pixel_ratio;
    const auto snap = [&](double x) { return std::round(x * input.device_pixel_ratio) / input.device_pixel_ratio; };
    for (const LaneBand& band : input.rows.bands()) {
        if (band.kind != lane) continue;
        const double left = std::clamp(snap(input.scale.x(range.begin)), 0.0, input.scale.width);
        const double right = std::clamp(snap(input.scale.x(range.end)), 0.0, input.scale.width);
        if (range.end <= input.scale.range.begin || range.begin >= input.scale.range.end) return {};
        const double top = input.rows.rowTop(row) + band.top - input.scroll_y;
        return bandPartOf(input.session, item).of({left, top, std::max(pixel, right - left), double(band.height)});
    }
    return {};
}

ItemRef hitTest(const Session& session, const TimeScale& scale, const RowLayout& rows, int scroll_y, double x, double y,
                double slack, bool replay) {
    const int content_y = static_cast<int>(std::floor(y)) + scroll_y;
    const int row = rows.rowAt(content_y);
    const auto band = rows.bandAt(content_y);
    if (row < 0 || !band) return {};
    const int line = rows.lineAt(row);

    const TimeNs time = scale.time(x);
    const TimeNs reach = scale.perPixel(slack);
    const auto nearest = [&](LaneKind kind) {
        const Lane& lane = session.lanes.lane(static_cast<std::size_t>(line), kind);
        ItemRef best;
        TimeNs distance = reach + TimeNs{1};
        for (std::size_t i = lane.firstEndingAfter(time - reach); i < lane.spans().size(); ++i) {
            const Span& span = lane.spans()[i];
            if (span.start > time + reach || distance == TimeNs{0}) break;
            const TimeNs away = std::max({TimeNs{0}, span.start - time, time - span.end});
            // If a point lies on the border of two spans, the later one is chosen, because ends are exclusive.
            const TimeNs penalty{away == TimeNs{0} && span.end == time ? 1 : 0};
            if (away + penalty >= distance) continue;
            distance = away + penalty;
            best = {itemKind(kind), span.step, session.lanes.rankOf(line), span.index};
        }
        return std::pair(best, distance);
    };
    const auto [item, distance] = nearest(band->kind);
    const double height = (content_y - rows.rowTop(row) - band->top) / static_cast<double>(band->height);
    if (band->kind == LaneKind::Compute && item && distance == TimeNs{0}) {
        const BandPart part = bandPartOf(session, item);
        return height >= part.from && height < part.to ? item : otherHalf(session, item);
    }
    if (band->kind != LaneKind::Compute) return item;
    if (replay && height >= kCheckPart.from && height < kCheckPart.to) {
        const auto [check, check_distance] = nearest(LaneKind::Check);
        if (check && (!item || check_distance <= distance)) return check;
    }
    const auto [bubble, bubble_distance] = nearest(LaneKind::Bubble);
    if (bubble && (!item || bubble_distance <= TimeNs{0})) return bubble;
    const auto [wait, wait_distance] = nearest(LaneKind::ReplicaWait);
    return wait && (!item || wait_distance <= TimeNs{0}) ? wait : item;
}

namespace {

QString labelOf(const Op& op, int vpp) {
    if (op.kind == OpKind::Optimizer) return QStringLiteral("O");
    if (vpp > 1) return QString::fromStdString(opName(op));
    return QChar::fromLatin1(opLetter(op.kind)) + QString::number(op.microbatch.value);
}

/// The ops of one step of a reference that lie within `part`.
void addReference(std::vector<TimelineShape>& shapes, const GeometryInput& input, const ReferencePart& part) {
    const LaneBand& band = input.rows.reference();
    const double pixel = 1 / input.device_pixel_ratio;
    const auto snap = [&](TimeNs time) {
        const TimeNs within = std::clamp(time, part.seen.begin, part.seen.end);
        const double x = std::clamp(input.scale.x(within), -pixel, input.scale.width + pixel);
        return std::round(x * input.device_pixel_ratio) / input.device_pixel_ratio;
    };
    const TimeNs begin = std::max(input.scale.range.begin, part.seen.begin);
    const TimeNs end = std::min(input.scale.range.end, part.seen.end);
    for (int rank = 0; rank < static_cast<int>(part.timeline.ranks.size()); ++rank) {
        const int row = input.rows.rowOf(input.session.lanes.lineOf(part.step, rank));
        if (row < 0) continue;
        const double top = input.rows.rowTop(row) + band.top - input.scroll_y;
        if (top >= input.height || top + band.height <= 0) continue;
        const auto& ops = part.timeline.ranks[static_cast<std::size_t>(rank)];
        auto op = std::ranges::lower_bound(ops, begin, {}, &TimelineOp::end);
        double drawn_to = -1;
        for (; op != ops.end() && op->start < end; ++op) {
            const double left = std::max(0.0, snap(op->start));
            const double right = std::min(input.scale.width, std::max(left + pixel, snap(op->end)));
            if (right <= drawn_to || right <= left) continue;
            drawn_to = right;
            TimelineShape shape;
            shape.rect = {left, top, right - left, static_cast<double>(band.height)};
            shape.role = roleOf(op->op.kind);
            shape.chunk = op->op.chunk.value;
            if (part.changes != nullptr) shape.change = part.changes->of(rank, op->op);
            const QString label = opChangeSign(shape.change) + labelOf(op->op, part.timeline.vpp);
            if (input.text_size(label).width() + kLabelPadding <= shape.rect.width()) shape.label = label;
            shapes.push_back(std::move(shape));
        }
    }
}

} // namespace

std::vector<ReferencePart> partsOf(const Session& session, const ReferenceOverlay& reference) {
    std::vector<ReferencePart> parts{{reference.step, reference.timeline, reference.changes.get(), {}}};
    for (const auto& one : reference.around)
        parts.push_back({one->step, one->timeline, one->changes.get(), {}});
    const auto replica = [&](const ReferencePart& part) { return session.step(part.step).replica; };
    const ReferencePart& whole = parts.front();
    for (ReferencePart& part : parts) {
        // Includes an op that runs alone at the end of the step.
        part.seen = {part.timeline.begin, TimeNs::max()};
        if (&part == &whole) continue;
        for (const ReferencePart& other : parts) {
            if (&other == &part || replica(other) != replica(part)) continue;
            if (other.timeline.begin > part.timeline.begin)
                part.seen.end = std::min(part.seen.end, other.timeline.begin);
        }
        if (replica(whole) == replica(part) && whole.timeline.begin < part.timeline.begin)
            part.seen.begin = std::max(part.seen.begin, whole.timeline.end);
        part.seen.end = std::max(part.seen.begin, part.seen.end);
    }
    return parts;
}

std::vector<TimelineShape> buildReferenceShapes(const GeometryInput& input, const ReferenceOverlay& reference) {
    std::vector<TimelineShape> shapes;
    if (input.rows.reference().height == 0) return shapes;
    for (const ReferencePart& part : partsOf(input.session, reference))
        addReference(shapes, input, part);
    return shapes;
}

bool opsInSight(const GeometryInput& input, int row) {
    const int top = input.rows.rowTop(row) - input.scroll_y;
    return !input.rows.isHeader(row) && top < input.height && top + input.rows.rowHeight() > 0;
}

std::vector<int> visibleRows(const GeometryInput& input) {
    std::vector<int> rows;
    for (int row = 0; row < input.rows.rowCount(); ++row) {
        if (opsInSight(input, row)) rows.push_back(row);
    }
    return rows;
}

} // namespace bubblescope::gui
