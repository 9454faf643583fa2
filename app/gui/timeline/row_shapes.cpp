#include "app/gui/timeline/row_shapes.h"

#include "app/gui/models/item_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr double kOwnFrom = 3;       ///< device pixels; narrower ops and bubbles become shares of columns
constexpr double kMinLabelWidth = 9; ///< narrower shapes get no label
constexpr int kMinLabelHeight = 12;  ///< lower lanes get no label

/// A replacement for std::round(), which is a function call.
double rounded(double value) {
    return value < 0 ? std::round(value) : static_cast<double>(static_cast<std::int64_t>(value + 0.5));
}

/// Converts one lane to shapes, from left to right.
class LaneBuilder {
public:
    LaneBuilder(const GeometryInput& input, int line, LaneKind kind, double top, double height,
                std::vector<TimelineShape>& out)
        : in_(input), lane_(input.session.lanes.lane(static_cast<std::size_t>(line), kind)),
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

    /// Adds a span as a separate shape, with edges in logical pixels.
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
        out_.push_back(std::move(shape));
    }

private:
    [[nodiscard]] double pixel() const { return 1 / in_.device_pixel_ratio; }
    [[nodiscard]] double snap(double x) const {
        const double limit = in_.scale.width + pixel();
        return rounded(std::clamp(x, -pixel(), limit) * in_.device_pixel_ratio) / in_.device_pixel_ratio;
    }
    [[nodiscard]] ItemRef itemOf(const Span& span) const {
        return {itemKind(kind_), span.step, static_cast<std::int32_t>(rank_), span.index};
    }

    /// Merges all spans that start in the pixel column at `left` and are narrower than a pixel into one column of the
    /// dominant colour. Adjacent columns of the same colour become one rectangle.
    std::size_t addColumn(std::size_t first, double left) {
        const auto& spans = lane_.spans();
        const TimeNs column_end = std::max(in_.scale.time(left + pixel()), spans[first].start + TimeNs{1});
        std::size_t last = first + 1;
        if (last < spans.size() && spans[last].start < column_end) last = lane_.firstStartingFrom(column_end, last);
        // A wide span that starts in this column becomes a separate shape.
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
    int rank_;
    LaneKind kind_;
    double top_;
    double height_;
    std::vector<TimelineShape>& out_;
    std::size_t first_shape_ = out_.size(); ///< index of this lane's first shape; earlier ones are of other lanes
};

/// The ops of a rank, its bubbles and its waits for other replicas, in one band. Spans at least kOwnFrom device pixels
/// wide are shapes; the columns of narrower ones are stacks of exact shares.
class ComputeBand {
public:
    ComputeBand(const GeometryInput& input, const std::vector<TimeNs>& borders, int row, const QRectF& band,
                RowShapes& out)
        : in_(input), borders_(borders), row_(row), line_(input.rows.lineAt(row)), band_(band), out_(out),
          columns_(borders.size() - 1), shared_(columns_) {}

    void build() {
        constexpr std::array kinds{LaneKind::Bubble, LaneKind::ReplicaWait, LaneKind::Compute};
        std::array<std::vector<WideSpan>, kinds.size()> wide;
        for (std::size_t i = kinds.size(); i-- > 0;) // ops first, see isAlone()
            share(kinds[i], wide[i]);
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            LaneBuilder shapes(in_, line_, kinds[i], band_.top(), band_.height(), out_.ops);
            for (const WideSpan& span : wide[i])
                addWide(shapes, span);
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
    /// The time at the left edge of a column; looked up for columns of the plot.
    [[nodiscard]] TimeNs border(double at) const {
        const bool known = at >= 0 && at <= static_cast<double>(columns_);
        return known ? borders_[static_cast<std::size_t>(at)] : in_.scale.time(at / ratio());
    }
    /// A span that is drawn separately, and its edges in device pixels.
    struct WideSpan {
        const Span* span = nullptr;
        double left = 0;
        double right = 0;
    };

    /// True if a narrow span is between wide ones. Its edges are then also drawn sharply, because a column with the
    /// shares of both neighbours would look like a notch.
    [[nodiscard]] bool isAlone(LaneKind kind, const std::vector<Span>& spans, std::size_t i) const {
        const double left = x(spans[i].start);
        const double right = x(spans[i].end);
        if (kind != LaneKind::Compute) {
            const std::size_t end = std::min(columns_, column(std::floor(right)) + 1);
            for (std::size_t at = column(std::floor(left)); at < end; ++at) {
                if (shared_[at]) return false;
            }
            return true;
        }
        return right - left >= 1 && (i == 0 || left - x(spans[i - 1].end) >= kOwnFrom) &&
               (i + 1 == spans.size() || x(spans[i + 1].start) - right >= kOwnFrom);
    }

    /// Finds the wide spans of a lane; columns with other spans become shared.
    void share(LaneKind kind, std::vector<WideSpan>& wide) {
        const Lane& lane = in_.session.lanes.lane(static_cast<std::size_t>(line_), kind);
        const auto& spans = lane.spans();
        const auto isWide = [](double left, double right) { return right - left >= kOwnFrom; };
        std::size_t i = lane.firstEndingAfter(in_.scale.range.begin);
        while (i < spans.size() && spans[i].start < in_.scale.range.end) {
            const double left = x(spans[i].start);
            double right = x(spans[i].end);
            if (isWide(left, right) || isAlone(kind, spans, i)) {
                wide.push_back({&spans[i++], left, right});
                continue;
            }
            // All spans that begin in this column, except a wide one or a wide pair that begins there last.
            const double first = std::floor(left);
            const TimeNs column_end = std::max(border(first + 1), spans[i].start + TimeNs{1});
            std::size_t next = std::max(i + 1, lane.firstStartingFrom(column_end, i + 1));
            if (next > i + 1) {
                while (next > i + 1 && isWide(x(spans[next - 1].start), x(spans[next - 1].end)))
                    --next;
                right = x(spans[next - 1].end);
            }
            const std::size_t end = column(std::floor(right) + 1);
            for (std::size_t at = column(first); at < end; ++at)
                shared_[at] = true;
            i = next;
        }
    }

    /// Omits the columns at the ends of the span that it shares with narrow spans.
    void addWide(LaneBuilder& shapes, const WideSpan& wide) {
        std::size_t left = column(std::round(wide.left));
        std::size_t right = column(std::round(wide.right));
        while (left < right && shared_[left])
            ++left;
        while (left < right && shared_[right - 1])
            --right;
        if (left < right)
            shapes.addOne(*wide.span, static_cast<double>(left) / ratio(), static_cast<double>(right) / ratio());
    }

    void addStacks() {
        const int height = static_cast<int>(std::lround(band_.height() * ratio()));
        LineCursor line(in_.session.lanes, static_cast<std::size_t>(line_), borders_.front());
        for (std::size_t column = 0; column < columns_; ++column) {
            if (!shared_[column]) continue;
            const TimeRange time{borders_[column], borders_[column + 1]};
            if (column > 0 && !shared_[column - 1]) line.advance(time.begin);
            line.advance(time.end);
            const StackHeights heights = stackHeights(line.shares(), time.length(), height);
            const auto at = static_cast<int>(column);
            if (!out_.stacks.empty() && out_.stacks.back().end == at && out_.stacks.back().heights == heights) {
                ++out_.stacks.back().end;
            } else {
                out_.stacks.push_back({row_, at, at + 1, heights, -1});
            }
        }
    }

    const GeometryInput& in_;
    const std::vector<TimeNs>& borders_;
    int row_;
    int line_;
    QRectF band_;
    RowShapes& out_;
    std::size_t columns_;
    std::vector<bool> shared_;
};

} // namespace

FullRows::FullRows(const GeometryInput& input) : input_(input) {
    if (!input.rows.compact()) rows_ = visibleRows(input);
    if (rows_.empty()) return;
    const auto columns = std::max<std::int64_t>(1, std::llround(input.scale.width * input.device_pixel_ratio));
    for (std::int64_t column = 0; column <= columns; ++column)
        borders_.push_back(input.scale.time(static_cast<double>(column) / input.device_pixel_ratio));
}

void FullRows::build(int row, RowShapes& out) const {
    out.ops.clear();
    out.stacks.clear();
    out.lanes.clear();
    const int line = input_.rows.lineAt(row);
    for (const LaneBand& band : input_.rows.bands()) {
        const double top = input_.rows.rowTop(row) + band.top - input_.scroll_y;
        if (top >= input_.height || top + band.height <= 0) continue;
        const auto addLane = [&](LaneKind kind) {
            LaneBuilder(input_, line, kind, top, band.height, out.lanes).build();
        };
        if (band.kind != LaneKind::Compute) {
            addLane(band.kind);
            continue;
        }
        ComputeBand(input_, borders_, row, {0, top, input_.scale.width, static_cast<double>(band.height)}, out).build();
        if (input_.replay && input_.session.lanes.uses(LaneKind::Check)) addLane(LaneKind::Check);
    }
}

bool mayBearLabel(const TimelineShape& shape) {
    return shape.item && shape.rect.width() >= kMinLabelWidth && shape.rect.height() >= kMinLabelHeight;
}

namespace {

/// True if a bubble contains checks, which would cover its label.
bool holdsChecks(const GeometryInput& input, const ItemRef& bubble) {
    if (!input.replay) return false;
    const auto line = static_cast<std::size_t>(input.session.lanes.lineOf(bubble));
    const Lane& checks = input.session.lanes.lane(line, LaneKind::Check);
    const TimeRange range = input.session.range(bubble);
    const std::size_t at = checks.firstEndingAfter(range.begin);
    return at < checks.spans().size() && checks.spans()[at].start < range.end;
}

} // namespace

QString shapeLabel(const GeometryInput& input, const TimelineShape& shape) {
    if (!mayBearLabel(shape)) return {};
    if (shape.item.kind == ItemKind::Bubble && holdsChecks(input, shape.item)) return {};
    const double room = shape.rect.width() - kLabelPadding;
    for (QString& label : itemLabels(input.session, shape.item)) {
        // A single line may touch the edges of the lane (as transfers do); two lines must fit inside.
        const QSizeF size = input.text_size(label);
        const bool low_enough = !label.contains(QLatin1Char('\n')) || size.height() <= shape.rect.height();
        if (size.width() <= room && low_enough) return std::move(label);
    }
    return {};
}

RowShapes buildShapes(const GeometryInput& input) {
    RowShapes all;
    RowShapes shapes;
    const FullRows rows(input);
    for (const int row : rows.rows()) {
        rows.build(row, shapes);
        std::ranges::move(shapes.ops, std::back_inserter(all.ops));
        std::ranges::move(shapes.stacks, std::back_inserter(all.stacks));
        std::ranges::move(shapes.lanes, std::back_inserter(all.lanes));
    }
    for (std::vector<TimelineShape>* const some : {&all.ops, &all.lanes}) {
        for (TimelineShape& shape : *some)
            shape.label = shapeLabel(input, shape);
    }
    return all;
}

} // namespace bubblescope::gui
