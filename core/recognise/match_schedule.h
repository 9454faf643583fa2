#pragma once

#include "core/recognise/run.h"

namespace bubblescope {

/// Names an observed order: compares it with every registry family and flavor at its p, m, v.
struct ScheduleMatch {
    Schedule schedule;                  ///< the family's, or the observed one named "custom"
    std::optional<Departure> departure; ///< from the closest family, when none is equal
    std::string closest;
};

[[nodiscard]] ScheduleMatch matchSchedule(const Schedule& observed);

} // namespace bubblescope
