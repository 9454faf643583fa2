#include "core/analysis/clocks/line_set.h"

#include <algorithm>
#include <utility>

namespace bubblescope {

LineSet::LineSet(double most_change) {
    // From far left to far right: the strip around equal ends, cut at kFar.
    corners_ = {{-kFar, -kFar - most_change},
                {kFar, kFar - most_change},
                {kFar, kFar + most_change},
                {-kFar, -kFar + most_change}};
}

void LineSet::clip(double weight_begin, double weight_end, double limit) {
    const auto over = [&](const Corner& c) { return weight_begin * c.begin + weight_end * c.end - limit; };
    if (std::ranges::all_of(corners_, [&](const Corner& c) { return over(c) <= 0; })) return;
    std::vector<Corner> kept;
    for (std::size_t i = 0; i < corners_.size(); ++i) {
        const Corner& here = corners_[i];
        const Corner& next = corners_[(i + 1) % corners_.size()];
        const double a = over(here);
        const double b = over(next);
        if (a <= 0) kept.push_back(here);
        if ((a < 0 && b > 0) || (a > 0 && b < 0)) {
            const double share = a / (a - b);
            kept.push_back({here.begin + share * (next.begin - here.begin), here.end + share * (next.end - here.end)});
        }
    }
    corners_ = std::move(kept);
}

LineSet::Interval LineSet::atBegin() const {
    const auto [low, high] = std::ranges::minmax_element(corners_, {}, &Corner::begin);
    return {low->begin, high->begin};
}

LineSet::Interval LineSet::atEnd() const {
    const auto [low, high] = std::ranges::minmax_element(corners_, {}, &Corner::end);
    return {low->end, high->end};
}

std::vector<BoundPoint> tightestUpper(std::vector<BoundPoint> points) {
    std::ranges::sort(points, {}, [](const BoundPoint& p) { return std::pair(p.place, p.value); });
    std::vector<BoundPoint> hull;
    for (const BoundPoint& point : points) {
        if (!hull.empty() && hull.back().place == point.place) continue; // the lowest at a place came first
        while (hull.size() >= 2) {
            const BoundPoint& a = hull[hull.size() - 2];
            const BoundPoint& b = hull.back();
            const double turn =
                (b.place - a.place) * (point.value - a.value) - (b.value - a.value) * (point.place - a.place);
            if (turn > 0) break;
            hull.pop_back();
        }
        hull.push_back(point);
    }
    return hull;
}

std::vector<BoundPoint> tightestLower(std::vector<BoundPoint> points) {
    for (BoundPoint& point : points)
        point.value = -point.value;
    points = tightestUpper(std::move(points));
    for (BoundPoint& point : points)
        point.value = -point.value;
    return points;
}

} // namespace bubblescope
