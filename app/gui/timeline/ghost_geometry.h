#pragma once

#include "app/gui/models/ghost.h"
#include "app/gui/timeline/geometry.h"

namespace bubblescope::gui {

/// The ghost's ops in their rows' ghost bands. Ops within one device pixel are drawn once, so that time grows with the
/// pixels and with the ops in sight of one step.
[[nodiscard]] std::vector<TimelineShape> buildGhostShapes(const GeometryInput& input, const Ghost& ghost);

} // namespace bubblescope::gui
