#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"
#include "runtime/backend/host_clock.h"
#include "runtime/comm/process_wires.h"
#include "runtime/model/data_plan.h"

#include <memory>

namespace bubblescope::runtime {

// What a run asks of MPI, for files that are compiled with and without it. Without it these are Usage errors.

/// The wires between the processes of this MPI job, which open them together.
[[nodiscard]] Result<std::unique_ptr<ProcessWires>> openJobWires(const Schedule& schedule, const DataPlan& plan,
                                                                 HostClock& clock, TimeNs timeout);

/// Only their control messages.
[[nodiscard]] Result<std::unique_ptr<ControlChannel>> openJobControl();

} // namespace bubblescope::runtime
