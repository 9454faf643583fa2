#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/process_transport.h"
#include "runtime/model/data_plan.h"

#include <memory>

namespace bubblescope::runtime {

// What a run needs of MPI, without MPI's headers. Where the build has no MPI these are Usage errors.

/// The transport between the processes of this MPI job, which open it together.
[[nodiscard]] Result<std::unique_ptr<ProcessTransport>>
openMpiJobTransport(const Schedule& schedule, const DataPlan& plan, HostClock& clock, TimeNs timeout);

/// Only their control messages.
[[nodiscard]] Result<std::unique_ptr<ControlChannel>> openMpiJobControl();

} // namespace bubblescope::runtime
