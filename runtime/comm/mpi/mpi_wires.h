#pragma once

#include "runtime/comm/mpi/tag_plan.h"
#include "runtime/comm/process_wires.h"

#include <mpi.h>

#include <memory>
#include <string>

namespace bubblescope::runtime {

struct MpiWiresConfig {
    TagPlan tags;
    HostClock& clock;
    TimeNs timeout{0}; ///< see Watchdog
    /// Ranks with equal names have one clock. Empty = what the system says of itself, which is one for all processes
    /// between two starts of a machine.
    std::string clock_name;
};

/// Error: Run, where MPI lets only one thread of a process call it.
[[nodiscard]] Status checkMpiThreads();

/// The wires between the processes of an MPI job, which carries both tensors and control messages. All processes of
/// the communicator open their ends together. Error: Run, where MPI does not allow what is needed.
[[nodiscard]] Result<std::unique_ptr<ProcessWires>> openMpiWires(MPI_Comm of, const MpiWiresConfig& config);

} // namespace bubblescope::runtime
