#pragma once

#include "core/cost/cost_model.h"
#include "core/recognise/run.h"

#include <optional>
#include <string>

namespace bubblescope {

/// A name for an observed order.
struct ScheduleMatch {
    Schedule schedule;                  ///< the family's, or the observed one named "custom"
    std::optional<Departure> departure; ///< from the closest family, when none is equal
    std::string closest;
    std::optional<Schedule> closest_order; ///< that family's, when none is equal
};

/// Compares with every registry family and flavor at the order's p, m, v, first with what the observed schedule
/// names itself. Families whose order depends on more are tried at their defaults, then with what was observed:
/// op times (`costs`, if known), memory limits around the peak of activations, and the size of the first group.
[[nodiscard]] ScheduleMatch matchSchedule(const Schedule& observed, const std::optional<CostModel>& costs = {});

} // namespace bubblescope
