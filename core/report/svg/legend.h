#pragma once

#include "core/report/svg/document.h"
#include "core/report/svg/row_boxes.h"

#include <set>

namespace bubblescope::svg {

/// What a drawing shows, and so what its legend explains.
struct LegendContent {
    std::set<OpKind> kinds;
    Shades shades;
    bool pairs = false;
    bool second_route = false;
    bool bubbles = false;
    bool labels = false;

    /// Adds what `boxes` show.
    void note(const std::vector<Box>& boxes, double row_height);
};

/// Writes the legend in lines from `area`'s left and top, no wider than it; returns where the legend ends.
double drawLegend(Document& document, const LegendContent& content, const Rect& area);

/// Attributes of what is drawn hatched; the pattern is in drawDefinitions().
inline constexpr std::string_view kHatched = R"svg(fill="url(#bubble)")svg";
void drawDefinitions(Document& document);

/// The bar that marks an op of the second route.
[[nodiscard]] Rect routeBar(const Rect& op);

} // namespace bubblescope::svg
