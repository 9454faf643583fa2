#pragma once

#include "core/base/result.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope::svg {

/// The work of a rank besides its ops, on a lane below them.
struct LaneBar {
    enum class Lane : std::uint8_t { Send, Receive, Weights };
    Lane lane = Lane::Send;
    TimeNs posted{0}; ///< from here to `start` it waits, drawn hatched
    TimeNs start{0};
    TimeNs end{0};
    std::string title; ///< tooltip
};

/// One step of a drawing.
struct Panel {
    const StepTimeline& step;
    std::string heading;                              ///< title, such as "1f1b, p = 4, m = 8"
    std::string details;                              ///< times and results; wrapped if too long for one line
    std::span<const std::vector<LaneBar>> lanes = {}; ///< per rank; empty: none
};

struct DrawOptions {
    std::vector<Rank> ranks = {};  ///< from top to bottom; empty = all
    TimeNs from{0};                ///< counted from each step's start
    std::optional<TimeNs> to = {}; ///< end of the longest step if not given
    double width = 900;            ///< pixels
};

/// Draws steps below one another on one time axis, as a separate SVG document: one row per rank, ops in the app's
/// colours, chunks and slices by shade, overlapped pairs as two halves, the second direction of bidirectional pipelines
/// with a bar, bubbles hatched, and sends, receives and weights on narrow lanes below. The document is self-contained
/// and has a background, so that it can be read on light and dark pages. Labels that would not fit their op are left
/// out. Errors: Usage if nothing is drawn, a rank does not exist, or the range or the width is empty.
[[nodiscard]] Result<std::string> drawTimelines(std::span<const Panel> panels, const DrawOptions& options = {});

} // namespace bubblescope::svg
