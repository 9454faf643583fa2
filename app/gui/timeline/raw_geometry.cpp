#include "app/gui/timeline/raw_geometry.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

namespace bubblescope::gui {

ColumnCache::Lane& ColumnCache::of(int line, TrackId track, int depth) {
    Lane& lane = lanes_[{line, track, depth}];
    lane.used = true;
    return lane;
}

void ColumnCache::endFrame() {
    for (auto lane = lanes_.begin(); lane != lanes_.end();)
        lane = std::exchange(lane->second.used, false) ? std::next(lane) : lanes_.erase(lane);
}

void ColumnCache::update(const SliceRow& row, const TimeRange& range, std::size_t pixels, Lane& lane) {
    const PixelGrid grid(range.length(), pixels);
    const auto count = static_cast<std::int64_t>(pixels);
    const std::int64_t first = grid.nearest(range.begin);
    const bool known = lane.length == range.length() && lane.columns.size() == pixels;
    const std::int64_t moved = known ? first - lane.first : count;
    lane.length = range.length();
    lane.first = first;
    lane.columns.resize(pixels);
    const std::span<Pyramid::Column> out(lane.columns);
    if (moved >= count || moved <= -count) return row.columns(grid, first, out);
    if (moved > 0) {
        std::move(lane.columns.begin() + moved, lane.columns.end(), lane.columns.begin());
        row.columns(grid, first + count - moved, out.last(static_cast<std::size_t>(moved)));
    } else if (moved < 0) {
        std::move_backward(lane.columns.begin(), lane.columns.end() + moved, lane.columns.end());
        row.columns(grid, first, out.first(static_cast<std::size_t>(-moved)));
    }
}

double snapToPixel(double x, double width, double device_pixel_ratio) {
    return std::round(std::clamp(x, 0.0, width) * device_pixel_ratio) / device_pixel_ratio;
}

namespace {

/// Adds the columns of a lane with this height, which covers `length` of time.
void addColumnRuns(const std::vector<Pyramid::Column>& columns, TimeNs length, double height,
                   std::vector<ColumnRun>& out) {
    out.reserve(columns.size());
    const double scale = // conversion from time to height
        height * static_cast<double>(columns.size()) / static_cast<double>(length.count());
    ColumnRun run;
    const auto close = [&](int end) {
        run.end = end;
        if (run.height > 0) out.push_back(run);
    };
    int at = 0;
    for (const Pyramid::Column& column : columns) {
        // At least one pixel, so that any activity is visible. Rounded manually, because std::round() is a function
        // call.
        const auto share =
            static_cast<double>(static_cast<int>(static_cast<double>(column.busy.count()) * scale + 0.5));
        const bool any = column.busy > TimeNs{0} || column.slices > 0;
        const int high = any ? static_cast<int>(std::clamp(share, 1.0, height)) : 0;
        if (at == 0 || high != run.height || column.key != run.name) {
            close(at);
            run = {at, at, high, column.key};
        }
        ++at;
    }
    close(at);
}

constexpr double kLabelRoom = 26; ///< narrower slices get no label

QString sliceLabel(const Trace& trace, SliceId slice, double room, const TextSize& text_size) {
    const std::string_view name = trace.name(slice);
    // Wider than any lane; kernel names may have thousands of characters.
    constexpr std::size_t kMaxLabelBytes = 200;
    QString text = QString::fromUtf8(name.data(), static_cast<qsizetype>(std::min(kMaxLabelBytes, name.size())));
    const double letter = std::max(1.0, text_size(QStringLiteral("n")).width());
    const auto fits = static_cast<qsizetype>((room - 6) / letter);
    if (text.size() > fits) text = text.left(std::max<qsizetype>(0, fits - 1)) + QChar(0x2026);
    return text;
}

} // namespace

SliceShape sliceShape(const Trace& trace, SliceId slice, const QRectF& place, double plot_width,
                      double device_pixel_ratio, const TextSize& text_size) {
    const double left = snapToPixel(place.left(), plot_width, device_pixel_ratio);
    const double right =
        std::max(left + 1 / device_pixel_ratio, snapToPixel(place.right(), plot_width, device_pixel_ratio));
    SliceShape shape{{left, place.top(), right - left, place.height()}, trace.sliceNames()[slice], slice, {}};
    if (shape.rect.width() >= kLabelRoom) shape.label = sliceLabel(trace, slice, shape.rect.width(), text_size);
    return shape;
}

namespace {

constexpr int kInset = 2;    ///< number of pixels by which a nested slice is lower than the enclosing slice
constexpr int kMaxInset = 3; ///< levels

} // namespace

class RawRows::Reader {
public:
    /// `key` identifies the line in the cache.
    Reader(const GeometryInput& input, int key, const RawLane& lane, int depth, int rows, double top)
        : in_(&input), row_(input.session.raw.row(lane, depth, rows)), top_(top),
          own_(lane.toLaneTime(input.scale.range)),
          columns_(input.columns != nullptr ? &input.columns->of(key, lane.track, rows > 1 ? depth : SliceRow::kAll)
                                            : nullptr) {}

    /// Reads the row's columns from the trace, and appends them to `out` unless the row is drawn as slices. Any thread.
    void read(std::vector<ColumnRun>& out) {
        const auto pixels = static_cast<std::size_t>(std::max(1.0, in_->scale.width * in_->device_pixel_ratio));
        few_ = own_.length() <= TimeNs{0} || row_.few(own_, pixels);
        if (few_) {
            slices_ = row_.slices(own_);
            return;
        }
        ColumnCache::Lane not_kept;
        ColumnCache::Lane& lane = columns_ != nullptr ? *columns_ : not_kept;
        ColumnCache::update(row_, own_, pixels, lane);
        addColumnRuns(lane.columns, own_.length(), RowLayout::kRawHeight, out);
    }
    [[nodiscard]] bool few() const { return few_; }
    [[nodiscard]] double top() const { return top_; }

    /// Includes labels, which need font metrics. GUI thread only.
    [[nodiscard]] std::vector<SliceShape> slices() const {
        std::vector<SliceShape> out;
        if (few_) addSlices(out);
        return out;
    }

private:
    [[nodiscard]] double x(TimeNs own) const {
        return static_cast<double>((own - own_.begin).count()) * in_->scale.width /
               static_cast<double>(std::max<std::int64_t>(1, own_.length().count()));
    }

    void addSlices(std::vector<SliceShape>& out) const {
        const Trace& trace = *in_->session.run.trace;
        withLevels(trace, slices_, [&](SliceId slice, int level) {
            const double inset = kInset * std::min(kMaxInset, level);
            const double left = x(trace.start(slice));
            const QRectF place(left, top_ + inset, x(trace.end(slice)) - left, RowLayout::kRawHeight - inset);
            out.push_back(sliceShape(trace, slice, place, in_->scale.width, in_->device_pixel_ratio, in_->text_size));
        });
    }

    const GeometryInput* in_;
    SliceRow row_;
    double top_;
    TimeRange own_;
    ColumnCache::Lane* columns_; ///< null if columns are not cached
    bool few_ = false;
    std::vector<SliceId> slices_;
};

RawRows::RawRows(const GeometryInput& input) {
    if (!input.session.raw.any()) return;
    ends_.reserve(static_cast<std::size_t>(input.rows.rowCount()));
    for (int row = 0; row < input.rows.rowCount(); ++row) {
        for (int lane = 0; lane < input.rows.rawCount(row); ++lane) {
            const int line = input.rows.rawLineAt(row);
            const int key =
                input.rows.isHeader(row) ? -1 - line : line; // a pinned track is also shown in its original row
            const int rows = input.rows.rawRows(row, lane);
            for (int depth = 0; depth < rows; ++depth) {
                const double top = input.rows.rawTop(row, lane, depth) - input.scroll_y;
                if (top >= input.height || top + RowLayout::kRawHeight <= 0) continue;
                lanes_.emplace_back(input, key, laneAt(input.session, input.rows, row, lane), depth, rows, top);
            }
        }
        ends_.push_back(lanes_.size());
    }
}

RawRows::~RawRows() = default;

void RawRows::read(int row, const std::function<void(const LaneShapes&)>& write) {
    static thread_local LaneShapes lane; // some tens of kilobytes, reused for every lane of a frame
    const auto at = static_cast<std::size_t>(row);
    if (at >= ends_.size()) return;
    for (std::size_t i = at == 0 ? 0 : ends_[at - 1]; i < ends_[at]; ++i) {
        lane.top = lanes_[i].top();
        lane.columns.clear();
        lanes_[i].read(lane.columns);
        if (!lanes_[i].few()) write(lane);
    }
}

std::vector<LaneShapes> RawRows::slices() {
    std::vector<LaneShapes> out;
    for (const Reader& lane : lanes_) {
        if (lane.few()) out.push_back({lane.top(), lane.slices(), {}});
    }
    return out;
}

std::vector<LaneShapes> RawRows::all() {
    std::vector<LaneShapes> out(lanes_.size());
    // In parallel, because reading millions of slices takes a while, and lanes are independent of each other.
    parallelFor(lanes_.size(), [&](std::size_t i) { lanes_[i].read(out[i].columns); });
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        out[i].top = lanes_[i].top();
        out[i].slices = lanes_[i].slices();
    }
    return out;
}

std::vector<LaneShapes> buildRawShapes(const GeometryInput& input) {
    return RawRows(input).all();
}

ItemRef rawHitTest(const GeometryInput& input, double x, double y, double slack) {
    const auto place = input.rows.rawAt(static_cast<int>(std::floor(y)) + input.scroll_y);
    if (!place || !input.session.raw.any()) return {};
    const int line = input.rows.rawLineAt(place->row);
    const RawLane& lane = laneAt(input.session, input.rows, place->row, place->lane);
    const TimeNs reach = input.scale.perPixel(slack);
    const TimeNs time = input.scale.time(x);
    const TimeRange own = lane.toLaneTime({time - reach, time + reach});
    const SliceRow slices = input.session.raw.row(lane, place->depth, input.rows.rawRows(place->row, place->lane));
    const TimeNs middle = own.begin + own.length() / 2;
    const Trace& trace = *input.session.run.trace;
    // When zoomed out, thousands of slices start within reach; the first few are sufficient.
    SliceId best = kNoId;
    TimeNs distance = TimeNs::max();
    for (const SliceId slice : slices.slices(own)) {
        const TimeNs away = std::max({TimeNs{0}, trace.start(slice) - middle, middle - trace.end(slice) + TimeNs{1}});
        if (away > distance) continue; // at the same distance the innermost slice is chosen
        distance = away;
        best = slice;
    }
    return best == kNoId ? ItemRef{} : input.session.sliceItem(line, best);
}

QRectF rawItemRect(const GeometryInput& input, const ItemRef& item) {
    const SliceId slice = input.session.slice(item);
    const TrackId track = input.session.run.trace->sliceTracks()[slice];
    const int line = input.session.lanes.lineOf(item);
    const int row = input.rows.rowOf(line);
    for (int lane = 0; lane < input.rows.rawCount(row); ++lane) {
        if (laneAt(input.session, input.rows, row, lane).track != track) continue;
        const TimeRange range = input.session.range(item);
        if (range.end < input.scale.range.begin || range.begin >= input.scale.range.end) return {};
        const double left = std::clamp(input.scale.x(range.begin), 0.0, input.scale.width);
        const double right = std::clamp(input.scale.x(range.end), 0.0, input.scale.width);
        const int depth = input.rows.rawRows(row, lane) > 1 ? input.session.raw.depthOf(track, slice) : 0;
        return {left, static_cast<double>(input.rows.rawTop(row, lane, depth) - input.scroll_y),
                std::max(1 / input.device_pixel_ratio, right - left), RowLayout::kRawHeight};
    }
    return {};
}

std::vector<LanePlace> lanesInSight(const GeometryInput& input) {
    std::vector<LanePlace> out;
    for (int row = 0; row < input.rows.rowCount(); ++row) {
        const int count = input.rows.rawCount(row);
        for (int lane = 0; lane < count; ++lane) {
            const double top = input.rows.rawTop(row, lane) - input.scroll_y;
            const double height = (input.rows.rawRows(row, lane) - 1) * RowLayout::kDepthPitch + RowLayout::kRawHeight;
            if (top >= input.height || top + height <= 0) continue;
            const RawLane& of = laneAt(input.session, input.rows, row, lane);
            out.push_back({of, {of.toLaneTime(input.scale.range), input.scale.width}, top, height});
        }
    }
    return out;
}

namespace {

constexpr double kFarAway = 4e3; ///< pixels outside the plot

/// Point where an arrow starts or ends.
std::optional<QPointF> placeOf(const GeometryInput& input, const FlowPoint& point) {
    const int line = input.session.raw.lineOf(point.track);
    const int row = input.rows.rowOf(line);
    if (row < 0) return std::nullopt;
    const RawLane* const lane = input.session.raw.laneOf(line, point.track);
    const TimeScale scale{lane->toLaneTime(input.scale.range), input.scale.width};
    const double x = std::clamp(scale.x(point.time), -kFarAway, input.scale.width + kFarAway);
    for (int shown = 0; shown < input.rows.rawCount(row); ++shown) {
        if (&laneAt(input.session, input.rows, row, shown) != lane) continue;
        const bool deep = input.rows.rawRows(row, shown) > 1 && point.slice != kNoId;
        const int depth = deep ? input.session.raw.depthOf(point.track, point.slice) : 0;
        return QPointF(x, input.rows.rawTop(row, shown, depth) - input.scroll_y + RowLayout::kRawHeight / 2.0);
    }
    return QPointF(x, input.rows.rowTop(row) - input.scroll_y + input.rows.rowHeight() / 2.0); // the line is folded
}

} // namespace

std::optional<QLineF> flowLine(const GeometryInput& input, const SliceFlow& flow) {
    const auto from = placeOf(input, flow.from);
    const auto to = placeOf(input, flow.to);
    if (!from || !to) return std::nullopt;
    return QLineF(*from, *to);
}

} // namespace bubblescope::gui
