#pragma once

#include <cstddef>
#include <vector>

namespace bubblescope::gui {

/// A line across a chart that wants words beside it; lengths are logical pixels.
struct MarkPlace {
    double x = 0;
    double width = 0;   ///< of its words
    int importance = 0; ///< more goes first
};

/// Where words stand, beside their mark.
struct MarkLabel {
    std::size_t mark = 0;
    double left = 0;
    double width = 0; ///< less than the words want where these are to be elided
};

/// Finds room for words between `left` and `right` so that none touch: those that matter more first, of equals the
/// latest. Each stands to the right of its mark, else to its left, else on the right as much of it as fits; where that
/// would say nothing it is left out. The result goes from left to right.
[[nodiscard]] std::vector<MarkLabel> placeMarkLabels(const std::vector<MarkPlace>& marks, double left, double right);

} // namespace bubblescope::gui
