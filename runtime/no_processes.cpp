#include "runtime/run_processes.h"

namespace bubblescope::runtime {

ProcessRun runOverProcesses(const RunConfig&, JobControl&, ProcessTeam&) {
    return {usageError("built without MPI: the ranks of a run can only be threads of one process",
                       "start it without mpirun"),
            true};
}

} // namespace bubblescope::runtime
