#include "runtime/comm/mpi/mpi_job.h"

#include "runtime/comm/mpi/mpi_control.h"
#include "runtime/comm/mpi/mpi_wires.h"

namespace bubblescope::runtime {

Result<std::unique_ptr<ProcessWires>> openJobWires(const Schedule& schedule, const DataPlan& plan, HostClock& clock,
                                                   TimeNs timeout) {
    return openMpiWires(MPI_COMM_WORLD, {TagPlan(schedule, plan), clock, timeout, {}});
}

Result<std::unique_ptr<ControlChannel>> openJobControl() {
    BUBBLESCOPE_TRY(checkMpiThreads());
    return std::unique_ptr<ControlChannel>(std::make_unique<MpiControl>(MPI_COMM_WORLD));
}

} // namespace bubblescope::runtime
