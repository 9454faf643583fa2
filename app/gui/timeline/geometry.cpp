#include "app/gui/timeline/geometry.h"

#include "app/gui/models/item_text.h"
#include "app/gui/models/navigation.h"
#include "app/gui/timeline/raw_geometry.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr double kNarrowestLabel = 9; ///< no text is tried below
constexpr int kLowestLabel = 12;      ///< lanes lower than this carry no text

/// What an op takes of its lane's height, from the top.
struct Share {
    double from = 0;
    double to = 1;

    [[nodiscard]] QRectF of(const QRectF& lane) const {
        const double top = std::round(from * lane.height());
        return {lane.left(), lane.top() + top, lane.width(), std::round(to * lane.height()) - top};
    }
};

/// Checks leave the bubble that they lie in to be seen above and below.
constexpr Share kCheckShare{0.25, 0.75};

/// The halves of an overlapped pair share the lane, forwards on top; others fill it.
Share shareOf(const Session& session, const ItemRef& item) {
    if (item.kind == ItemKind::Check) return kCheckShare;
    const ItemRef other = otherHalf(session, item);
    if (!other) return {};
    const bool forward = session.op(item).op.kind == OpKind::Forward;
    const bool other_forward = session.op(other).op.kind == OpKind::Forward;
    const bool upper = forward != other_forward ? forward : item.index < other.index;
    return upper ? Share{0, 0.5} : Share{0.5, 1};
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

private:
    [[nodiscard]] double pixel() const { return 1 / in_.device_pixel_ratio; }
    [[nodiscard]] double snap(double x) const {
        const double limit = in_.scale.width + pixel();
        return std::round(std::clamp(x, -pixel(), limit) * in_.device_pixel_ratio) / in_.device_pixel_ratio;
    }
    [[nodiscard]] ItemRef itemOf(const Span& span) const {
        return {itemKind(kind_), span.step, static_cast<std::int32_t>(rank_), span.index};
    }

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
        // Most ops are no half of a pair, and looking for the other half takes time.
        shape.rect = span.paired || kind_ == LaneKind::Check ? shareOf(in_.session, shape.item).of(lane) : lane;
        shape.label = labelFor(shape);
        out_.push_back(std::move(shape));
    }

    /// Checks lie where a bubble's label would be.
    [[nodiscard]] bool holdsChecks(const TimeRange& bubble) const {
        if (!in_.replay) return false;
        const Lane& checks = in_.session.lanes.lane(static_cast<std::size_t>(line_), LaneKind::Check);
        const std::size_t at = checks.firstEndingAfter(bubble.begin);
        return at < checks.spans().size() && checks.spans()[at].start < bubble.end;
    }

    [[nodiscard]] QString labelFor(const TimelineShape& shape) const {
        const double room = shape.rect.width() - kLabelPadding;
        if (room < kNarrowestLabel - kLabelPadding || shape.rect.height() < kLowestLabel) return {};
        if (kind_ == LaneKind::Bubble && holdsChecks(in_.session.range(shape.item))) return {};
        for (QString& label : itemLabels(in_.session, shape.item)) {
            // A single line may touch its lane's edges (transfers do), two need to lie inside.
            const QSizeF size = in_.text_size(label);
            const bool low_enough = !label.contains(QLatin1Char('\n')) || size.height() <= shape.rect.height();
            if (size.width() <= room && low_enough) return std::move(label);
        }
        return {};
    }

    /// All spans that start in the pixel column at `left` and are narrower than it become one column in the
    /// colour that takes most of its time. Columns of one colour that touch become one rectangle.
    std::size_t addColumn(std::size_t first, double left) {
        const auto& spans = lane_.spans();
        const TimeNs column_end = std::max(in_.scale.time(left + pixel()), spans[first].start + TimeNs{1});
        std::size_t last = first + 1;
        if (last < spans.size() && spans[last].start < column_end)
            last = std::max(last, lane_.firstStartingFrom(column_end));
        // A wide span that starts in this column is drawn for itself.
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
            // The pixel belongs to the wider neighbour.
            if (previous.rect.right() > from + pixel() / 2) return last;
        }
        TimelineShape shape;
        const Share share = kind_ == LaneKind::Check ? kCheckShare : Share{};
        shape.rect = share.of({from, top_, pixel(), height_});
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
    std::size_t first_shape_ = out_.size(); ///< of this lane; earlier ones are other lanes' neighbours
};

} // namespace

std::vector<TimelineShape> buildShapes(const GeometryInput& input) {
    std::vector<TimelineShape> shapes;
    if (input.rows.strips()) return shapes;
    const auto addLane = [&](int row, LaneKind kind, const LaneBand& band) {
        const double top = input.rows.rowTop(row) + band.top - input.scroll_y;
        if (top >= input.height || top + band.height <= 0) return;
        LaneBuilder(input, input.rows.lineAt(row), kind, top, band.height, shapes).build();
    };
    for (int row = 0; row < input.rows.rowCount(); ++row) {
        if (input.rows.isHeader(row)) continue;
        for (const LaneBand& band : input.rows.bands()) {
            if (band.kind == LaneKind::Compute) addLane(row, LaneKind::Bubble, band);
        }
    }
    for (int row = 0; row < input.rows.rowCount(); ++row) {
        if (input.rows.isHeader(row)) continue;
        for (const LaneBand& band : input.rows.bands()) {
            addLane(row, band.kind, band);
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
        return shareOf(input.session, item).of({left, top, std::max(pixel, right - left), double(band.height)});
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
            // Of two that touch, the one that holds the point wins; ends are exclusive.
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
        const Share share = shareOf(session, item);
        return height >= share.from && height < share.to ? item : otherHalf(session, item);
    }
    if (band->kind != LaneKind::Compute) return item;
    if (replay && height >= kCheckShare.from && height < kCheckShare.to) {
        const auto [check, check_distance] = nearest(LaneKind::Check);
        if (check && (!item || check_distance <= distance)) return check;
    }
    const auto [bubble, bubble_distance] = nearest(LaneKind::Bubble);
    return bubble && (!item || bubble_distance <= TimeNs{0}) ? bubble : item;
}

} // namespace bubblescope::gui
