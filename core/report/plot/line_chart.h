#pragma once

#include "core/report/plot/canvas.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope::plot {

/// One quantity of a chart. All panels share their x positions: values are connected by lines if the positions are
/// numbers, and shown as bars if they are names.
struct Panel {
    std::string title;                                      ///< title including the unit: "Bubble rate (%)"
    std::vector<std::vector<std::optional<double>>> values; ///< per series and x; empty where there is no value
};

struct Chart {
    std::string title;
    std::string places_title;        ///< displayed below each panel
    std::vector<std::string> places; ///< labels of the x positions
    std::vector<double> at;          ///< x positions; empty = the positions are names, spaced equally
    std::vector<std::string> series;
    std::vector<Panel> panels;
};

/// Draws the panels side by side with a common legend below. Series differ in colour, mark and dashes, so that the
/// first seven can be distinguished in greyscale and by colour-blind readers.
[[nodiscard]] Canvas draw(const Chart& chart);

/// At most six round numbers from 0 to `largest` or slightly above.
[[nodiscard]] std::vector<double> roundTicks(double largest);

} // namespace bubblescope::plot
