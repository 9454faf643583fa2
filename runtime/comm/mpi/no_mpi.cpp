#include "runtime/comm/mpi/mpi_job.h"

// Replaces mpi_transport.cpp in a build without MPI.
namespace bubblescope::runtime {
namespace {

Error noMpi() {
    return usageError("this program was built without MPI, by which ranks on the CPU can be processes",
                      "start it without a launcher: then all ranks are threads of one process");
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
