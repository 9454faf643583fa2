#pragma once

#include "app/gui/timeline/geometry.h"

#include <vector>

namespace bubblescope::gui {

/// Neighbouring columns of device pixels of a strip that look the same. From the strip's bottom `busy` pixels are
/// filled, then `idle` ones are bubble, and what is left of the height lies in no step.
struct StripPiece {
    int row = 0;
    int begin = 0; ///< columns, from the plot's left edge
    int end = 0;
    int busy = 0; ///< device pixels
    int idle = 0;
    Role role = Role::Bubble; ///< takes most of the busy time
    int chunk = 0;

    friend bool operator==(const StripPiece&, const StripPiece&) = default;
};

/// The visible strips, top to bottom and left to right: each column as high as the rank's ops are running in its time.
/// Where there are both, ops and bubbles get a pixel at least. Time grows with the pixels and the logarithm of the
/// spans. Empty where rows are no strips.
[[nodiscard]] std::vector<StripPiece> buildStrips(const GeometryInput& input);

} // namespace bubblescope::gui
