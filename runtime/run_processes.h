#pragma once

#include "core/base/process_team.h"
#include "runtime/run.h"

#include <string>

namespace bubblescope::runtime {

/// A run whose ranks are processes.
struct ProcessRun {
    /// On the root the summary that runPipeline() would return: losses, digest and memory are the same bit for bit. On
    /// the others only what concerns their own rank is filled in. Errors are those of runPipeline(), the same for
    /// all, and the watchdog's about a rank whose process has died.
    Result<RunSummary> summary;
    /// False where a process has died: the job can only be left without MPI_Finalize.
    bool all_alive = true;
};

/// As runPipeline(), with each process of an MPI job as one rank; all call it together with equal configs. `out_dir`
/// must be one folder for all, each writes its own file there. Usage error where the job has not as many processes as
/// the run has ranks, or where the program was built without MPI.
[[nodiscard]] ProcessRun runOverProcesses(const RunConfig& config, JobControl& control, ProcessTeam& team);

} // namespace bubblescope::runtime
