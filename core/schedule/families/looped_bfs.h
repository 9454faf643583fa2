#pragma once

#include "core/schedule/schedule.h"
#include "core/theory/closed_form.h"

#include <string>

namespace bubblescope {

/// The form of every order that takes all micro-batches through one chunk after the other, forward and then
/// back; derived in looped_bfs.cpp. Errors: Usage on unequal stages.
[[nodiscard]] Result<ClosedForm> breadthFirstForm(const Schedule& schedule, const CostModel& costs, std::string domain);

} // namespace bubblescope
