#pragma once

#include "core/base/time.h"
#include "core/report/svg/document.h"
#include "core/report/svg/row_boxes.h"

#include <set>
#include <string>
#include <string_view>

/// The frame of every drawing, around its content.

namespace bubblescope::svg {

inline constexpr double kMargin = 14;
inline constexpr double kTextSize = 11;
inline constexpr double kLeastPlot = 100; ///< minimum width in pixels; below it, nothing can be distinguished
inline constexpr TimeNs kLatest{1'000'000'000'000'000'000}; ///< 30 years; above this, sums of times could overflow

/// The document's first element, not closed, with its title, the hatching and the background.
[[nodiscard]] std::string openDrawing(double width, double height, std::string_view title);

/// Draws a time axis whose left and right ends are those of `plot`, below `y`, in a drawing that is `width` wide;
/// returns where the axis ends.
double drawAxis(Document& document, const Rect& plot, double y, TimeNs from, TimeNs to, double width);

/// The elements of a drawing, which its legend explains.
struct LegendContent {
    std::set<OpKind> kinds;
    Shades shades;
    bool pairs = false;
    bool second_route = false;
    bool bubbles = false;
    bool labels = false;

    /// Adds the content of `boxes`.
    void note(const std::vector<Box>& boxes, double row_height);
};

/// Writes the legend in lines from `area`'s left and top, at most as wide as `area`; returns where the legend ends.
double drawLegend(Document& document, const LegendContent& content, const Rect& area);

/// Attributes of hatched elements. The stripes are a repeating gradient, defined by drawDefinitions(), because viewers
/// of SVG Tiny, such as Qt's before 6.7, do not support patterns.
inline constexpr std::string_view kHatched = R"svg(fill="url(#bubble)")svg";
void drawDefinitions(Document& document);

/// The bar that marks an op of the second route.
[[nodiscard]] Rect routeBar(const Rect& op);

} // namespace bubblescope::svg
