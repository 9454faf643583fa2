#include "runtime/comm/mpi/mpi_job.h"

// Replaces mpi_transport.cpp in a build without MPI.
namespace bubblescope::runtime {
namespace {

Error noMpi() {
    return usageError("this program was built without MPI, so ranks on the CPU cannot be processes",
                      "start it without a launcher to run all ranks as threads of one process");
}

} // namespace

Result<std::unique_ptr<ProcessTransport>> openMpiJobTransport(const Schedule&, const DataPlan&, HostClock&, TimeNs,
                                                              std::shared_ptr<ActivityBoard>) {
    return noMpi();
}

Result<std::unique_ptr<ControlChannel>> openMpiJobControl() {
    return noMpi();
}

} // namespace bubblescope::runtime
