#pragma once

#include "core/report/plot/canvas.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope::plot {

/// One quantity of a chart, over the same places as the other panels: lines if places are numbers, bars if they are
/// names.
struct Panel {
    std::string title;                                      ///< title with its unit: "Bubble rate (%)"
    std::vector<std::vector<std::optional<double>>> values; ///< per series and place; empty if there is no value
};

struct Chart {
    std::string title;
    std::string places_title;        ///< below each panel
    std::vector<std::string> places; ///< labels of the places
    std::vector<double> at;          ///< positions of the places; empty: places are names, shown side by side
    std::vector<std::string> series;
    std::vector<Panel> panels;
};

/// Panels side by side, one legend below. Series differ in colour, mark and dashes, so that the first seven can be
/// distinguished in greyscale and by colour-blind readers.
[[nodiscard]] Canvas draw(const Chart& chart);

/// At most six round numbers from 0 to `largest` or a little above.
[[nodiscard]] std::vector<double> roundTicks(double largest);

} // namespace bubblescope::plot
