#include "app/gui/timeline/counter_geometry.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

/// Of each column of device pixels, in logical pixels.
std::vector<double> counterHeights(const TimeScale& scale, double ratio, const CounterLane& lane) {
    const auto columns = static_cast<std::size_t>(std::max<long long>(1, std::llround(scale.width * ratio)));
    std::vector<double> heights(columns, 0);
    const auto device = [&](TimeNs time) {
        const double x = std::clamp(scale.x(time), 0.0, scale.width);
        return std::min(columns - 1, static_cast<std::size_t>(x * ratio));
    };
    const auto next = std::upper_bound(lane.times.begin(), lane.times.end(), scale.range.begin);
    auto i = static_cast<std::size_t>(next - lane.times.begin());
    if (i > 0) --i;
    for (; i < lane.times.size() && lane.times[i] < scale.range.end; ++i) {
        const double share = std::clamp(lane.values[i] / lane.most, 0.0, 1.0);
        if (share <= 0) continue;
        const double height = std::max(1.0, std::round(share * RowLayout::kCounterHeight));
        const TimeNs end = i + 1 < lane.times.size() ? lane.times[i + 1] : scale.range.end;
        const std::size_t last = device(std::min(end, scale.range.end) - TimeNs{1});
        for (std::size_t column = device(lane.times[i]); column <= last; ++column)
            heights[column] = std::max(heights[column], height);
    }
    return heights;
}

} // namespace

std::vector<CounterShape> buildCounterShapes(const GeometryInput& input, const CounterLanes& counters) {
    std::vector<CounterShape> shapes;
    const double pixel = 1 / input.device_pixel_ratio;
    for (int row = 0; row < input.rows.rowCount(); ++row) {
        for (int place = 0; place < input.rows.counterCount(row); ++place) {
            const double top = input.rows.counterTop(row, place) - input.scroll_y;
            if (top >= input.height || top + RowLayout::kCounterHeight <= 0) continue;
            const CounterLane& lane = counters.of(input.rows.lineAt(row))[static_cast<std::size_t>(place)];
            if (lane.most <= 0) continue;
            const std::vector<double> heights = counterHeights(input.scale, input.device_pixel_ratio, lane);
            for (std::size_t begin = 0; begin < heights.size();) {
                std::size_t end = begin + 1;
                while (end < heights.size() && heights[end] == heights[begin])
                    ++end;
                if (heights[begin] > 0)
                    shapes.push_back(
                        {{static_cast<double>(begin) * pixel, top + RowLayout::kCounterHeight - heights[begin],
                          static_cast<double>(end - begin) * pixel, heights[begin]},
                         row,
                         place});
                begin = end;
            }
        }
    }
    return shapes;
}

std::optional<CounterPlace> counterAt(const GeometryInput& input, const CounterLanes& counters, double x, double y) {
    const int content_y = static_cast<int>(std::floor(y)) + input.scroll_y;
    const int row = input.rows.rowAt(content_y);
    for (int place = 0; row >= 0 && place < input.rows.counterCount(row); ++place) {
        const int top = input.rows.counterTop(row, place);
        if (content_y < top || content_y >= top + RowLayout::kCounterHeight) continue;
        return CounterPlace{&counters.of(input.rows.lineAt(row))[static_cast<std::size_t>(place)], input.scale.time(x)};
    }
    return std::nullopt;
}

} // namespace bubblescope::gui
