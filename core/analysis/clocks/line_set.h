#pragma once

#include <vector>

namespace bubblescope {

/// The straight lines over [0, 1] that satisfy a set of inequalities, represented as the polygon of their values at 0
/// and at 1. Uses doubles: values are nanoseconds, exact below 2^53.
class LineSet {
public:
    /// A value that stands for infinity. Intervals that reach this value are unbounded on that side.
    static constexpr double kFar = 1e15;

    /// Starts with all lines whose ends differ by at most `most_change`.
    explicit LineSet(double most_change);

    /// Removes lines above `value` (keepBelow) or below `value` (keepAbove) at `place` in [0, 1].
    void keepBelow(double place, double value) { clip(1 - place, place, value); }
    void keepAbove(double place, double value) { clip(place - 1, -place, -value); }

    [[nodiscard]] bool empty() const { return corners_.empty(); }

    struct Interval {
        double low = -kFar;
        double high = kFar;
    };
    /// Ranges of values at 0 and at 1. The set must not be empty.
    [[nodiscard]] Interval atBegin() const;
    [[nodiscard]] Interval atEnd() const;

private:
    struct Corner {
        double begin = 0;
        double end = 0;
    };
    /// Removes lines that violate weight_begin * begin + weight_end * end <= `limit`.
    void clip(double weight_begin, double weight_end, double limit);

    std::vector<Corner> corners_;
};

struct BoundPoint {
    double place = 0;
    double value = 0;
};

/// The upper bounds that can touch a line: the lower convex hull, sorted by place. O(n log n).
[[nodiscard]] std::vector<BoundPoint> tightestUpper(std::vector<BoundPoint> points);
/// The lower bounds that can touch a line: the upper convex hull.
[[nodiscard]] std::vector<BoundPoint> tightestLower(std::vector<BoundPoint> points);

} // namespace bubblescope
