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
    /// Ranks with equal names have one clock. Empty = the system's, see systemClockName().
    std::string clock_name;
};

/// Error: Run, where MPI lets only one thread of a process call it.
[[nodiscard]] Status checkMpiThreads();

/// The transport between the processes of an MPI job, which carries both tensors and control messages. All processes of
/// the communicator open their ends together. Error: Run, where MPI does not allow what is needed.
[[nodiscard]] Result<std::unique_ptr<ProcessTransport>> openMpiTransport(MPI_Comm of, const MpiTransportConfig& config);

} // namespace bubblescope::runtime
