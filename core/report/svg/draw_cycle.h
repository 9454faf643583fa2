#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::svg {

/// A call that waits for the next call in its cycle; the last call waits for the first.
struct CycleCall {
    int rank = 0;
    std::size_t place = 0; ///< index in the rank's list of actions
    std::string name;
    std::string why; ///< label of the arrow; may be empty
};

/// Draws a cycle of waits as an SVG document: one column per rank with its calls from top to bottom in the rank's
/// order, and an arrow from each call to the call for which it waits.
[[nodiscard]] std::string drawCycle(const std::vector<CycleCall>& cycle, std::string_view title);

} // namespace bubblescope::svg
