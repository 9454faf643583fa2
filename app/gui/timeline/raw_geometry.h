#pragma once

#include "app/gui/timeline/geometry.h"
#include "core/trace/trace.h"

#include <vector>

namespace bubblescope::gui {

/// A rectangle of a raw lane: a slice, or neighbouring pixels in which the same name takes most of the time, as high
/// as the lane is busy there.
struct RawShape {
    QRectF rect;
    StringId name = 0;
    SliceId slice = kNoId; ///< kNoId for pixels
    QString label;         ///< fits; empty where nothing does
};

/// Raw lanes of unfolded ranks that are in sight. Time grows with the pixels, whatever is in the trace.
[[nodiscard]] std::vector<RawShape> buildRawShapes(const GeometryInput& input);

/// The innermost slice at a point of the plot; slices within `slack` pixels are caught too.
[[nodiscard]] ItemRef rawHitTest(const GeometryInput& input, double x, double y, double slack = 2);

/// The rectangle of a slice's lane where the slice lies; empty when out of sight or folded.
[[nodiscard]] QRectF rawItemRect(const GeometryInput& input, const ItemRef& item);

} // namespace bubblescope::gui
