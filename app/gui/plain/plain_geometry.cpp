#include "app/gui/plain/plain_geometry.h"

#include "app/gui/timeline/counters.h"
#include "core/base/parallel.h"

#include <QLineF>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>

namespace bubblescope::gui {

namespace {

constexpr double kLevelGap = 1;

void turnIn(std::vector<int>& list, int value) {
    const auto at = std::ranges::lower_bound(list, value);
    if (at != list.end() && *at == value) {
        list.erase(at);
    } else {
        list.insert(at, value);
    }
}

} // namespace

bool PlainFolds::hasProcess(int process) const {
    return std::ranges::binary_search(processes, process);
}
bool PlainFolds::hasLane(int lane) const {
    return std::ranges::binary_search(lanes, lane);
}
void PlainFolds::turnProcess(int process) {
    turnIn(processes, process);
}
void PlainFolds::turnLane(int lane) {
    turnIn(lanes, lane);
}

PlainLayout::PlainLayout(const PlainTrace& trace, const PlainFolds& folds) : row_of_lane_(trace.lanes().size(), -1) {
    int top = 0;
    for (int process = 0; process < static_cast<int>(trace.processes().size()); ++process) {
        const PlainProcess& one = trace.processes()[static_cast<std::size_t>(process)];
        const auto header = static_cast<int>(rows_.size());
        rows_.push_back({process, -1, top, kHeaderHeight});
        top += kHeaderHeight;
        for (int lane = one.first_lane; lane < one.end_lane; ++lane) {
            if (folds.hasProcess(process)) {
                row_of_lane_[static_cast<std::size_t>(lane)] = header;
                continue;
            }
            const PlainLane& of = trace.lanes()[static_cast<std::size_t>(lane)];
            const int levels = folds.hasLane(lane) ? 1 : of.depth;
            const int height = of.isCounter() ? kCounterHeight : levels * kLevelHeight + 2 * kLaneMargin;
            row_of_lane_[static_cast<std::size_t>(lane)] = static_cast<int>(rows_.size());
            rows_.push_back({process, lane, top, height, levels});
            top += height;
        }
    }
}

int PlainLayout::rowAt(int y) const {
    if (y < 0 || y >= contentHeight()) return -1;
    return static_cast<int>(std::ranges::upper_bound(rows_, y, {}, &PlainRow::top) - rows_.begin()) - 1;
}

namespace {

class PlainLaneShapes {
public:
    PlainLaneShapes(const PlainInput& input, const PlainRow& row)
        : in_(input), row_(row), trace_(input.trace.trace()),
          track_(input.trace.lanes()[static_cast<std::size_t>(row.lane)].track),
          top_(row.top - input.scroll + PlainLayout::kLaneMargin) {}

    /// Any thread, one lane at a time.
    void read() {
        const TimeRange range = in_.scale.range;
        const auto pixels = static_cast<std::size_t>(std::max(1.0, in_.scale.width * in_.device_pixel_ratio));
        few_ = in_.trace.pyramid().few(track_, range.begin, range.end, pixels);
        if (few_) {
            slices_ = in_.trace.pyramid().slices(track_, range.begin, range.end);
            return;
        }
        std::vector<Pyramid::Column> columns(pixels);
        in_.trace.pyramid().columns(track_, range.begin, range.end, columns);
        const double height = row_.levels * PlainLayout::kLevelHeight - kLevelGap;
        out_ = columnShapes(columns, range.length(), {0, top_, in_.scale.width, height});
    }

    /// Adds the labels, which need font metrics. GUI thread only.
    void name() {
        if (few_) addSlices();
    }
    [[nodiscard]] std::vector<SliceShape>& shapes() { return out_; }

private:
    void addSlices() {
        withLevels(trace_, slices_, [&](SliceId slice, int level) {
            const double left = in_.scale.x(trace_.start(slice));
            const double top = top_ + std::min(level, row_.levels - 1) * PlainLayout::kLevelHeight;
            const QRectF place(left, top, in_.scale.x(trace_.end(slice)) - left, PlainLayout::kLevelHeight - kLevelGap);
            out_.push_back(sliceShape(trace_, slice, place, in_.scale.width, in_.device_pixel_ratio, in_.text_size));
        });
    }

    const PlainInput& in_;
    const PlainRow& row_;
    const Trace& trace_;
    TrackId track_;
    double top_;
    bool few_ = false;
    std::vector<SliceId> slices_;
    std::vector<SliceShape> out_;
};

/// The level of a slice on its track: how many slices are around it.
int levelOf(const PlainTrace& trace, SliceId wanted) {
    const TrackId track = trace.trace().sliceTracks()[wanted];
    const TimeNs start = trace.trace().start(wanted);
    int found = 0;
    withLevels(trace.trace(), trace.pyramid().slices(track, start, start + TimeNs{1}), [&](SliceId slice, int level) {
        if (slice == wanted) found = level;
    });
    return found;
}

} // namespace

std::vector<SliceShape> buildPlainShapes(const PlainInput& input) {
    std::deque<PlainLaneShapes> lanes; // a deque keeps its elements in place
    for (const PlainRow& row : input.layout.rows()) {
        if (row.header() || !input.sees(row)) continue;
        if (!input.trace.lanes()[static_cast<std::size_t>(row.lane)].isCounter()) lanes.emplace_back(input, row);
    }
    parallelFor(lanes.size(), [&](std::size_t i) { lanes[i].read(); });
    std::vector<SliceShape> shapes;
    for (PlainLaneShapes& lane : lanes) {
        lane.name();
        std::ranges::move(lane.shapes(), std::back_inserter(shapes));
    }
    return shapes;
}

SliceId plainHit(const PlainInput& input, double x, double y, double slack) {
    const int content = static_cast<int>(std::floor(y)) + input.scroll;
    const int at = input.layout.rowAt(content);
    if (at < 0) return kNoId;
    const PlainRow& row = input.layout.rows()[static_cast<std::size_t>(at)];
    if (row.header()) return kNoId;
    const PlainLane& lane = input.trace.lanes()[static_cast<std::size_t>(row.lane)];
    if (lane.isCounter()) return kNoId;
    const Trace& trace = input.trace.trace();
    const Pyramid& pyramid = input.trace.pyramid();
    const auto pixels = static_cast<std::size_t>(std::max(1.0, input.scale.width * input.device_pixel_ratio));
    const bool few = pyramid.few(lane.track, input.scale.range.begin, input.scale.range.end, pixels);
    const int level =
        std::clamp((content - row.top - PlainLayout::kLaneMargin) / PlainLayout::kLevelHeight, 0, row.levels - 1);
    const TimeNs reach = input.scale.perPixel(slack);
    const TimeNs time = input.scale.time(x);
    SliceId best = kNoId;
    TimeNs distance = TimeNs::max();
    withLevels(trace, pyramid.slices(lane.track, time - reach, time + reach), [&](SliceId slice, int its_level) {
        // Pixels stand for all levels; the innermost slice wins there, and on the last level.
        if (few && std::min(its_level, row.levels - 1) != level) return;
        const TimeNs away = std::max({TimeNs{0}, trace.start(slice) - time, time - trace.end(slice) + TimeNs{1}});
        if (away > distance) return;
        distance = away;
        best = slice;
    });
    return best;
}

QRectF plainRect(const PlainInput& input, SliceId slice) {
    const Trace& trace = input.trace.trace();
    const int lane = input.trace.laneOf(trace.sliceTracks()[slice]);
    if (lane < 0) return {};
    const PlainRow& row = input.layout.rows()[static_cast<std::size_t>(input.layout.rowOf(lane))];
    const double left = input.scale.x(trace.start(slice));
    const double width = std::max(1 / input.device_pixel_ratio, input.scale.x(trace.end(slice)) - left);
    const double top = row.top - input.scroll;
    if (row.header()) return {left, top + 4, width, PlainLayout::kHeaderHeight - 8};
    const auto pixels = static_cast<std::size_t>(std::max(1.0, input.scale.width * input.device_pixel_ratio));
    const TrackId track = trace.sliceTracks()[slice];
    if (!input.trace.pyramid().few(track, input.scale.range.begin, input.scale.range.end, pixels))
        return {left, top + PlainLayout::kLaneMargin, width, row.levels * PlainLayout::kLevelHeight - kLevelGap};
    const int level = std::min(levelOf(input.trace, slice), row.levels - 1);
    return {left, top + PlainLayout::kLaneMargin + level * PlainLayout::kLevelHeight, width,
            PlainLayout::kLevelHeight - kLevelGap};
}

std::vector<PlainCounterShape> buildPlainCounters(const PlainInput& input) {
    std::vector<PlainCounterShape> out;
    for (const PlainRow& row : input.layout.rows()) {
        if (row.header() || !input.sees(row)) continue;
        const PlainLane& lane = input.trace.lanes()[static_cast<std::size_t>(row.lane)];
        if (!lane.isCounter()) continue;
        const CounterSeries& series = input.trace.trace().counters()[lane.counter];
        const double span = std::max(1e-300, lane.high - lane.low);
        const double room = row.height - 2 * PlainLayout::kLaneMargin;
        const double bottom = row.top - input.scroll + PlainLayout::kLaneMargin + room;
        std::vector<double> heights =
            CounterValues{series.times, series.values}.columnMaxima(input.scale, input.device_pixel_ratio);
        for (double& height : heights)
            height = std::isnan(height) ? 0 : std::max(1.0, std::round((height - lane.low) / span * room));
        for (const QRectF& bar : barsOf(heights, input.device_pixel_ratio, bottom))
            out.push_back({bar, row.lane});
    }
    return out;
}

std::vector<PlainMark> buildPlainMarks(const PlainInput& input, const std::vector<SliceId>& slices) {
    std::vector<PlainMark> out;
    const Trace& trace = input.trace.trace();
    for (std::size_t lane = 0; lane < input.trace.lanes().size(); ++lane) {
        const PlainLane& of = input.trace.lanes()[lane];
        if (of.isCounter()) continue;
        const int row = input.layout.rowOf(static_cast<int>(lane));
        if (!input.sees(input.layout.rows()[static_cast<std::size_t>(row)])) continue;
        const Track& track = trace.tracks()[of.track];
        const auto first = std::ranges::lower_bound(slices, track.first_slice);
        const auto end = std::lower_bound(first, slices.end(), track.end_slice);
        const auto start = [&](SliceId slice) { return trace.start(slice); };
        // One search per pixel that has a mark, however many slices begin there.
        auto at = std::ranges::lower_bound(first, end, input.scale.range.begin, {}, start);
        while (at != end && trace.start(*at) < input.scale.range.end) {
            const double x = std::floor(input.scale.x(trace.start(*at)));
            out.push_back({row, x});
            const TimeNs next = std::max(input.scale.time(x + 1), trace.start(*at) + TimeNs{1});
            at = std::ranges::lower_bound(at, end, next, {}, start);
        }
    }
    return out;
}

std::optional<QLineF> plainArrow(const PlainInput& input, const PlainFlow& flow) {
    const auto place = [&](const FlowPoint& point) -> std::optional<QPointF> {
        if (point.slice != kNoId) {
            const QRectF rect = plainRect(input, point.slice);
            if (rect.isEmpty()) return std::nullopt;
            // The event lies in the slice; arrows start there.
            const double x = std::clamp(input.scale.x(point.time), rect.left(), rect.right());
            return QPointF(x, rect.center().y());
        }
        const int lane = input.trace.laneOf(point.track);
        if (lane < 0) return std::nullopt;
        const PlainRow& row = input.layout.rows()[static_cast<std::size_t>(input.layout.rowOf(lane))];
        return QPointF(input.scale.x(point.time), row.top - input.scroll + row.height / 2.0);
    };
    const auto from = place(flow.from);
    const auto to = place(flow.to);
    if (!from || !to) return std::nullopt;
    return QLineF(*from, *to);
}

} // namespace bubblescope::gui
