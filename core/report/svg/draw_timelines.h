#pragma once

#include "core/base/result.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope::svg {

/// Work of a rank other than ops, drawn on a lane below the ops.
struct LaneBar {
    enum class Lane : std::uint8_t { Send, Receive, Weights };
    Lane lane = Lane::Send;
    TimeNs posted{0}; ///< time at which the work started to wait; drawn hatched until `start`
    TimeNs start{0};
    TimeNs end{0};
    std::string title; ///< tooltip
};

/// One step of a drawing.
struct Panel {
    const StepTimeline& step;
    std::string heading;                              ///< title, such as "1f1b, p = 4, m = 8"
    std::string details;                              ///< times and results; wrapped if too long for one line
    std::span<const std::vector<LaneBar>> lanes = {}; ///< per rank; empty = no lanes
};

struct DrawOptions {
    std::vector<Rank> ranks = {};  ///< from top to bottom; empty = all
    TimeNs from{0};                ///< relative to the start of each step
    std::optional<TimeNs> to = {}; ///< end of the range; if empty, the end of the longest step
    double width = 900;            ///< pixels
};

/// Draws steps one below the other on a common time axis, as a standalone SVG document with one row per rank. Ops have
/// the app's colours, with shades for chunks and slices; overlapped pairs are drawn as two halves. Ops of the second
/// direction of bidirectional pipelines are marked by a bar, and bubbles are hatched. Sends, receives and weights are
/// on narrow lanes below. The background makes the drawing readable on light and dark pages. Labels that do not fit are
/// omitted. Errors: Usage if there is nothing to draw, a rank does not exist, or the range or the width is empty.
[[nodiscard]] Result<std::string> drawTimelines(std::span<const Panel> panels, const DrawOptions& options = {});

} // namespace bubblescope::svg
