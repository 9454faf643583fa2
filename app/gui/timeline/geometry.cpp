#include "app/gui/timeline/geometry.h"

#include "app/gui/models/item_text.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/timeline/column_shares.h"
#include "app/gui/timeline/raw_geometry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr int kLaneMargin = 6; ///< above and below a row's lanes
constexpr int kLaneGap = 2;
constexpr int kCommHeight = 12;
constexpr int kReferenceHeight = 16; ///< at least; else a third of the op band
constexpr int kMaxReferenceHeight = 40;
constexpr int kMaxViews = 4;       ///< number of screens to scroll; with more, rows become compact
constexpr int kMinFreeHeight = 80; ///< pixels that must be free below pinned rows; otherwise these scroll too
constexpr int kManyRows = 32;      ///< with fewer rows, compact rows are used only on request
constexpr double kOwnFrom = 3;     ///< device pixels; narrower ops and bubbles are shares of columns
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
    const int for_rows = view_height - (rowCount() - rows) * kGroupHeight;
    layBands(lanes, 0);
    const int fixed = row_height_;
    const int room = rows > 0 ? for_rows / rows : fixed + kMaxBandHeight;
    if (extras_.height > 0) {
        compact_ = extras_.height < kMinReadableHeight;
    } else {
        compact_ = rows >= kManyRows && rows * (fixed + kMinReadableHeight) > kMaxViews * std::max(1, view_height);
    }
    if (compact_) {
        layCompactRows(
            std::clamp(extras_.height > 0 ? extras_.height : room, kMinCompactHeight, kMinReadableHeight - 1));
    } else {
        int free = room - fixed;
        // A reference takes a third of the op band, between its limits.
        if (const int both = free + kReferenceHeight; extras_.reference)
            free = std::min(free, std::max(both * 3 / 4, both - kMaxReferenceHeight));
        layBands(lanes, extras_.height > 0 ? std::min(extras_.height, kMaxBandHeight)
                                           : std::clamp(free, kMinReadableHeight, kMaxBandHeight));
    }
    tops_.push_back(0);
    int pinned = 0;
    for (int row = 0; row < rowCount(); ++row) {
        const int counters = counterCount(row);
        tops_.push_back(tops_.back() + (isHeader(row)
                                            ? kGroupHeight
                                            : row_height_ + rawHeight(row) +
                                                  (counters > 0 ? counters * kCounterPitch + kLaneMargin : 0)));
        if (plan_[static_cast<std::size_t>(row)].pinned) pinned = tops_.back();
    }
    if (pinned <= view_height - kMinFreeHeight) sticky_ = pinned;
}

int RowLayout::rowOf(int line) const {
    const auto at = static_cast<std::size_t>(line);
    return line >= 0 && at < row_of_line_.size() ? row_of_line_[at] : -1;
}

int RowLayout::rawHeight(int row) const {
    const int raw = rawCount(row);
    return raw > 0 ? raw * kRawPitch + kLaneMargin : 0;
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

RowExtras::RawPart RowLayout::rawPart(int row) const {
    if (row < 0 || row >= rowCount() || isHeader(row)) return {};
    const auto at = static_cast<std::size_t>(lineAt(row));
    return at < extras_.raw_lanes.size() ? extras_.raw_lanes[at] : RowExtras::RawPart{};
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
    if (row < 0 || y < rawTop(row, 0)) return std::nullopt;
    const int lane = (y - rawTop(row, 0)) / kRawPitch;
    if (lane >= rawCount(row) || y >= rawTop(row, lane) + kRawHeight) return std::nullopt;
    return RawPlace{row, lane};
}

namespace {

constexpr double kMinLabelWidth = 9; ///< narrower shapes get no label
constexpr int kMinLabelHeight = 12;  ///< lower lanes get no label

/// The vertical part of a lane that an op fills, from the top.
struct BandPart {
    double from = 0;
    double to = 1;

    [[nodiscard]] QRectF of(const QRectF& lane) const {
        const double top = std::round(from * lane.height());
        return {lane.left(), lane.top() + top, lane.width(), std::round(to * lane.height()) - top};
    }
};

/// Checks leave the bubble visible above and below.
constexpr BandPart kCheckPart{0.25, 0.75};

/// The two halves of an overlapped pair split the lane, forwards on top. Other ops fill it.
BandPart bandPartOf(const Session& session, const ItemRef& item) {
    if (item.kind == ItemKind::Check) return kCheckPart;
    const ItemRef other = otherHalf(session, item);
    if (!other) return {};
    const bool forward = session.op(item).op.kind == OpKind::Forward;
    const bool other_forward = session.op(other).op.kind == OpKind::Forward;
    const bool upper = forward != other_forward ? forward : item.index < other.index;
    return upper ? BandPart{0, 0.5} : BandPart{0.5, 1};
}

/// Turns one lane into shapes, from left to right.
class LaneBuilder {
public:
    LaneBuilder(const GeometryInput& input, int line, LaneKind kind, double top, double height,
                std::vector<TimelineShape>& out)
        : in_(input), lane_(input.session.lanes.lane(static_cast<std::size_t>(line), kind)), line_(line),
          rank_(input.session.lanes.rankOf(line)), kind_(kind), top_(top), height_(height), out_(out) {}

    void build() {
        const auto& spans = lane_.spans();
        std::size_t i = lane_.firstEndingAfter(in_.scale.range.begin);
        while (i < spans.size() && spans[i].start < in_.scale.range.end) {
            const double left = snap(in_.scale.x(spans[i].start));
            const double right = snap(in_.scale.x(spans[i].end));
            if (right - left >= pixel()) {
                addOne(spans[i], left, right);
                ++i;
            } else {
                i = addColumn(i, left);
            }
        }
    }

    /// Adds a span as a shape of its own; edges in logical pixels.
    void addOne(const Span& span, double left, double right) {
        TimelineShape shape;
        shape.item = itemOf(span);
        shape.role = span.role;
        shape.chunk = span.chunk;
        shape.bad = kind_ == LaneKind::Check && in_.session.check(shape.item).outcome == CheckOutcome::Mismatch;
        const double from = std::max(0.0, left);
        const double to = std::min(in_.scale.width, right);
        if (to <= from) return;
        const QRectF lane(from, top_, to - from, height_);
        // Finding the other half takes time, and most ops are not paired.
        shape.rect = span.paired || kind_ == LaneKind::Check ? bandPartOf(in_.session, shape.item).of(lane) : lane;
        shape.label = labelFor(shape);
        out_.push_back(std::move(shape));
    }

private:
    [[nodiscard]] double pixel() const { return 1 / in_.device_pixel_ratio; }
    [[nodiscard]] double snap(double x) const {
        const double limit = in_.scale.width + pixel();
        return std::round(std::clamp(x, -pixel(), limit) * in_.device_pixel_ratio) / in_.device_pixel_ratio;
    }
    [[nodiscard]] ItemRef itemOf(const Span& span) const {
        return {itemKind(kind_), span.step, static_cast<std::int32_t>(rank_), span.index};
    }

    /// Whether a bubble holds checks, which would cover its label.
    [[nodiscard]] bool holdsChecks(const TimeRange& bubble) const {
        if (!in_.replay) return false;
        const Lane& checks = in_.session.lanes.lane(static_cast<std::size_t>(line_), LaneKind::Check);
        const std::size_t at = checks.firstEndingAfter(bubble.begin);
        return at < checks.spans().size() && checks.spans()[at].start < bubble.end;
    }

    [[nodiscard]] QString labelFor(const TimelineShape& shape) const {
        const double room = shape.rect.width() - kLabelPadding;
        if (room < kMinLabelWidth - kLabelPadding || shape.rect.height() < kMinLabelHeight) return {};
        if (kind_ == LaneKind::Bubble && holdsChecks(in_.session.range(shape.item))) return {};
        for (QString& label : itemLabels(in_.session, shape.item)) {
            // A single line may touch the edges of the lane (as transfers do); two lines must fit inside.
            const QSizeF size = in_.text_size(label);
            const bool low_enough = !label.contains(QLatin1Char('\n')) || size.height() <= shape.rect.height();
            if (size.width() <= room && low_enough) return std::move(label);
        }
        return {};
    }

    /// Merges all spans that start in the pixel column at `left` and are narrower than a pixel into one column of the
    /// prevailing colour. Adjacent columns of one colour become one rectangle.
    std::size_t addColumn(std::size_t first, double left) {
        const auto& spans = lane_.spans();
        const TimeNs column_end = std::max(in_.scale.time(left + pixel()), spans[first].start + TimeNs{1});
        std::size_t last = first + 1;
        if (last < spans.size() && spans[last].start < column_end)
            last = std::max(last, lane_.firstStartingFrom(column_end));
        // A wide span that starts in this column gets its own shape.
        if (last - first > 1 && snap(in_.scale.x(spans[last - 1].end)) - left > pixel()) --last;

        const auto [role, chunk] = lane_.mainColour(first, last, {spans[first].start, TimeNs::max()});
        const double from = std::clamp(left, 0.0, std::max(0.0, in_.scale.width - pixel()));
        if (out_.size() > first_shape_) {
            TimelineShape& previous = out_.back();
            const bool merged = !previous.item && previous.role == role && previous.chunk == chunk;
            if (merged && previous.rect.right() >= from - pixel() / 2) {
                previous.rect.setRight(std::max(previous.rect.right(), from + pixel()));
                return last;
            }
            // The wider neighbour keeps the pixel.
            if (previous.rect.right() > from + pixel() / 2) return last;
        }
        TimelineShape shape;
        const BandPart part = kind_ == LaneKind::Check ? kCheckPart : BandPart{};
        shape.rect = part.of({from, top_, pixel(), height_});
        shape.role = role;
        shape.chunk = chunk;
        out_.push_back(std::move(shape));
        return last;
    }

    const GeometryInput& in_;
    const Lane& lane_;
    int line_;
    int rank_;
    LaneKind kind_;
    double top_;
    double height_;
    std::vector<TimelineShape>& out_;
    std::size_t first_shape_ = out_.size(); ///< index of this lane's first shape; earlier ones belong to other lanes
};

/// What a rank computes, its bubbles and its waits for other replicas, in one band. Spans at least kOwnFrom device
/// pixels wide are shapes; the columns of narrower ones are stacks of exact shares.
class ComputeBand {
public:
    ComputeBand(const GeometryInput& input, int line, const QRectF& band, std::vector<TimelineShape>& out)
        : in_(input), line_(line), band_(band), out_(out),
          columns_(static_cast<std::size_t>(std::max<std::int64_t>(1, std::llround(input.scale.width * ratio())))),
          shared_(columns_) {}

    void build() {
        constexpr std::array kinds{LaneKind::Bubble, LaneKind::ReplicaWait, LaneKind::Compute};
        for (const LaneKind kind : kinds)
            forEach(kind, [](const Span&) {});
        for (const LaneKind kind : kinds) {
            LaneBuilder shapes(in_, line_, kind, band_.top(), band_.height(), out_);
            forEach(kind, [&](const Span& span) { addWide(shapes, span); });
        }
        addStacks();
    }

private:
    [[nodiscard]] double ratio() const { return in_.device_pixel_ratio; }
    /// In device pixels.
    [[nodiscard]] double x(TimeNs time) const {
        return std::clamp(in_.scale.x(time), -1.0, in_.scale.width + 1) * ratio();
    }
    [[nodiscard]] std::size_t column(double at) const {
        return static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(columns_)));
    }
    [[nodiscard]] bool isWide(const Span& span) const { return x(span.end) - x(span.start) >= kOwnFrom; }

    /// Calls `wide` for each wide span; the columns of the others become shared.
    template <class Wide>
    void forEach(LaneKind kind, const Wide& wide) {
        const Lane& lane = in_.session.lanes.lane(static_cast<std::size_t>(line_), kind);
        const auto& spans = lane.spans();
        std::size_t i = lane.firstEndingAfter(in_.scale.range.begin);
        while (i < spans.size() && spans[i].start < in_.scale.range.end) {
            if (isWide(spans[i])) {
                wide(spans[i++]);
                continue;
            }
            // All that begin in this column, but for a wide one or a wide pair that begins there last.
            const double first = std::floor(x(spans[i].start));
            const TimeNs column_end = std::max(in_.scale.time((first + 1) / ratio()), spans[i].start + TimeNs{1});
            std::size_t next = std::max(i + 1, lane.firstStartingFrom(column_end, i));
            while (next > i + 1 && isWide(spans[next - 1]))
                --next;
            const std::size_t end = column(std::floor(x(spans[next - 1].end)) + 1);
            for (std::size_t at = column(first); at < end; ++at)
                shared_[at] = true;
            i = next;
        }
    }

    /// Without the columns at its ends that it shares with narrow ones.
    void addWide(LaneBuilder& shapes, const Span& span) {
        std::size_t left = column(std::round(x(span.start)));
        std::size_t right = column(std::round(x(span.end)));
        while (left < right && shared_[left])
            ++left;
        while (left < right && shared_[right - 1])
            --right;
        if (left < right)
            shapes.addOne(span, static_cast<double>(left) / ratio(), static_cast<double>(right) / ratio());
    }

    void addStacks() {
        const int height = static_cast<int>(std::lround(band_.height() * ratio()));
        const auto border = [&](std::size_t column) { return in_.scale.time(static_cast<double>(column) / ratio()); };
        StackHeights run{};
        std::size_t begin = 0;
        const auto flush = [&](std::size_t end) {
            if (end > begin) addStack(run, begin, end);
        };
        LineCursor line(in_.session.lanes, static_cast<std::size_t>(line_), border(0));
        for (std::size_t column = 0; column < columns_; ++column) {
            if (!shared_[column]) {
                flush(column);
                begin = column + 1;
                continue;
            }
            const TimeRange time{border(column), border(column + 1)};
            line.advance(time.begin); // over the columns that are not shared
            line.advance(time.end);
            const StackHeights heights = stackHeights(line.shares(), time.length(), height);
            if (column > begin && heights == run) continue;
            flush(column);
            begin = column;
            run = heights;
        }
        flush(columns_);
    }

    void addStack(const StackHeights& heights, std::size_t begin, std::size_t end) {
        double bottom = band_.top() + band_.height();
        const double left = static_cast<double>(begin) / ratio();
        const double right = std::min(in_.scale.width, static_cast<double>(end) / ratio());
        for (const Role role : kStackOrder) {
            const double height = heights[static_cast<std::size_t>(role)] / ratio();
            if (height <= 0) continue;
            bottom -= height;
            TimelineShape shape;
            shape.rect = {left, bottom, right - left, height};
            shape.role = role;
            shape.chunk = -1;
            out_.push_back(std::move(shape));
        }
    }

    const GeometryInput& in_;
    int line_;
    QRectF band_;
    std::vector<TimelineShape>& out_;
    std::size_t columns_;
    std::vector<bool> shared_;
};

} // namespace

std::vector<TimelineShape> buildShapes(const GeometryInput& input) {
    std::vector<TimelineShape> shapes;
    if (input.rows.compact()) return shapes;
    const auto addLane = [&](int row, LaneKind kind, const LaneBand& band) {
        const double top = input.rows.rowTop(row) + band.top - input.scroll_y;
        if (top >= input.height || top + band.height <= 0) return;
        LaneBuilder(input, input.rows.lineAt(row), kind, top, band.height, shapes).build();
    };
    for (int row = 0; row < input.rows.rowCount(); ++row) {
        if (input.rows.isHeader(row)) continue;
        for (const LaneBand& band : input.rows.bands()) {
            const double top = input.rows.rowTop(row) + band.top - input.scroll_y;
            if (band.kind != LaneKind::Compute) {
                addLane(row, band.kind, band);
            } else if (top < input.height && top + band.height > 0) {
                ComputeBand(input, input.rows.lineAt(row),
                            {0, top, input.scale.width, static_cast<double>(band.height)}, shapes)
                    .build();
            }
            if (band.kind == LaneKind::Compute && input.replay && input.session.lanes.uses(LaneKind::Check))
                addLane(row, LaneKind::Check, band);
        }
    }
    return shapes;
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
            // Of two adjacent spans the one that contains the point wins; ends are exclusive.
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
        // An op that runs alone at the very end is drawn as well.
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

} // namespace bubblescope::gui
