#pragma once

#include "core/report/plot/canvas.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope::plot {

/// One quantity over the same places as the others of its chart: lines where places are numbers, bars where they are
/// names.
struct Panel {
    std::string title;                                      ///< with its unit: "Bubble rate (%)"
    std::vector<std::vector<std::optional<double>>> values; ///< per series and place; none where there is no value
};

struct Chart {
    std::string title;
    std::string places_title;        ///< below each panel
    std::vector<std::string> places; ///< their labels
    std::vector<double> at;          ///< where they lie; empty: places are names, side by side
    std::vector<std::string> series;
    std::vector<Panel> panels;
};

/// Panels side by side, one legend below. Series differ in colour, mark and dashes, so that a grey print and
/// colour-blind readers can distinguish the first seven.
[[nodiscard]] Canvas draw(const Chart& chart);

/// At most six round numbers from 0 to `largest` or a little above.
[[nodiscard]] std::vector<double> roundTicks(double largest);

} // namespace bubblescope::plot
