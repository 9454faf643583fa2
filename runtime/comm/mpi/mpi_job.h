#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/process_transport.h"
#include "runtime/model/data_plan.h"

#include <memory>

namespace bubblescope::runtime {

// A run's interface to MPI, without MPI's headers. In a build without MPI these functions return Usage errors.

/// Opens the transport between the processes of this MPI job, which must all call this function.
[[nodiscard]] Result<std::unique_ptr<ProcessTransport>> openMpiJobTransport(const Schedule& schedule,
                                                                            const DataPlan& plan, HostClock& clock,
                                                                            TimeNs timeout,
                                                                            std::shared_ptr<ActivityBoard> board);

/// Opens only the control channel of this MPI job.
[[nodiscard]] Result<std::unique_ptr<ControlChannel>> openMpiJobControl();

} // namespace bubblescope::runtime
