#pragma once

#include "runtime/comm/mpi/mpi_channels.h"
#include "runtime/comm/process_transport.h"

#include <mpi.h>

#include <memory>
#include <string>

namespace bubblescope::runtime {

struct MpiTransportConfig {
    TagPlan tags;
    HostClock& clock;
    TimeNs timeout{0}; ///< see Watchdog
    /// Ranks with equal names share a clock. Empty = the system's, see systemClockName().
    std::string clock_name;
};

/// Error: Run, if MPI allows calls from only one thread of a process.
[[nodiscard]] Status checkMpiThreads();

/// The transport between the processes of an MPI job, which carries tensors and control messages. All processes of the
/// communicator open it together. Error: Run, if MPI lacks what is needed.
[[nodiscard]] Result<std::unique_ptr<ProcessTransport>> openMpiTransport(MPI_Comm of, const MpiTransportConfig& config);

} // namespace bubblescope::runtime
