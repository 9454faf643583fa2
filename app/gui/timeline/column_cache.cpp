#include "app/gui/timeline/column_cache.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

namespace bubblescope::gui {

ColumnCache::Lane& ColumnCache::of(int line, TrackId track) {
    Lane& lane = lanes_[{line, track}];
    lane.used = true;
    return lane;
}

void ColumnCache::endFrame() {
    for (auto lane = lanes_.begin(); lane != lanes_.end();)
        lane = std::exchange(lane->second.used, false) ? std::next(lane) : lanes_.erase(lane);
}

void ColumnCache::look(const Pyramid& pyramid, TrackId track, TimeNs from, TimeNs to, std::size_t pixels, Lane& lane) {
    const std::int64_t length = (to - from).count();
    const auto count = static_cast<std::int64_t>(pixels);
    const auto fill = [&](std::int64_t begin, std::int64_t end) {
        const auto border = [&](std::int64_t pixel) {
            return lane.grid + TimeNs{length / count * pixel + length % count * pixel / count};
        };
        const std::span<Pyramid::Column> out(lane.columns);
        pyramid.columns(
            track, border(begin), border(end),
            out.subspan(static_cast<std::size_t>(begin - lane.first), static_cast<std::size_t>(end - begin)));
    };
    std::int64_t moved = count;
    if (lane.length == to - from && lane.columns.size() == pixels) {
        const double pixel = static_cast<double>(length) / static_cast<double>(count);
        moved = std::llround(static_cast<double>((from - lane.grid).count()) / pixel) - lane.first;
    }
    if (std::abs(moved) >= count) {
        lane.length = to - from;
        lane.grid = from;
        lane.first = 0;
        lane.columns.resize(pixels);
        return fill(0, count);
    }
    lane.first += moved;
    if (moved > 0) {
        std::move(lane.columns.begin() + moved, lane.columns.end(), lane.columns.begin());
        fill(lane.first + count - moved, lane.first + count);
    } else if (moved < 0) {
        std::move_backward(lane.columns.begin(), lane.columns.end() + moved, lane.columns.end());
        fill(lane.first, lane.first - moved);
    }
}

} // namespace bubblescope::gui
