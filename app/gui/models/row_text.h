#pragma once

#include "app/gui/models/row_plan.h"

#include <QString>

namespace bubblescope::gui {

/// "Rank 3", or in a run of several replicas "Rank 3 dp 1".
[[nodiscard]] QString lineName(const Session& session, int line);
/// "dp 1 (rows: 4)".
[[nodiscard]] QString groupName(const PlannedRow& header, MeshAxis axis);

} // namespace bubblescope::gui
