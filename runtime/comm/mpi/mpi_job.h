#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/process_transport.h"
#include "runtime/model/data_plan.h"

#include <memory>

namespace bubblescope::runtime {

// The interface of a run to MPI, without MPI's headers. In a build without MPI these return Usage errors.

/// The transport between the processes of this MPI job, which open it together.
[[nodiscard]] Result<std::unique_ptr<ProcessTransport>> openMpiJobTransport(const Schedule& schedule,
                                                                            const DataPlan& plan, HostClock& clock,
                                                                            TimeNs timeout,
                                                                            std::shared_ptr<ActivityBoard> board);

/// Only the control channel of this MPI job.
[[nodiscard]] Result<std::unique_ptr<ControlChannel>> openMpiJobControl();

} // namespace bubblescope::runtime
