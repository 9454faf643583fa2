#pragma once

#include "core/base/time.h"
#include "core/report/svg/document.h"
#include "core/report/svg/row_boxes.h"

#include <set>
#include <string>
#include <string_view>

/// The parts that all drawings have in common: axes, legend and background.

namespace bubblescope::svg {

inline constexpr double kMargin = 14;
inline constexpr double kTextSize = 11;
inline constexpr double kLeastPlot = 100;                   ///< minimum width in pixels for a readable drawing
inline constexpr TimeNs kLatest{1'000'000'000'000'000'000}; ///< 30 years; sums of larger times could overflow

/// The start of the document, with its title, the hatching and the background; its first element is not closed.
[[nodiscard]] std::string openDrawing(double width, double height, std::string_view title);

/// Draws a time axis below `y` that extends over the width of `plot`, in a drawing of width `width`; returns the y
/// coordinate of its lower end.
double drawAxis(Document& document, const Rect& plot, double y, TimeNs from, TimeNs to, double width);

/// The elements of a drawing that the legend must explain.
struct LegendContent {
    std::set<OpKind> kinds;
    Shades shades;
    bool pairs = false;
    bool second_route = false;
    bool bubbles = false;
    bool labels = false;

    /// Adds the elements in `boxes`.
    void note(const std::vector<Box>& boxes, double row_height);
};

/// Draws the legend in rows, from the top left of `area` and within its width; returns the y coordinate of its end.
double drawLegend(Document& document, const LegendContent& content, const Rect& area);

/// Attributes of hatched elements. The stripes are a repeating gradient, defined by drawDefinitions(), because viewers
/// of SVG Tiny, such as Qt before 6.7, do not support patterns.
inline constexpr std::string_view kHatched = R"svg(fill="url(#bubble)")svg";
void drawDefinitions(Document& document);

/// Bar that marks an op of the second pipeline.
[[nodiscard]] Rect routeBar(const Rect& op);

} // namespace bubblescope::svg
