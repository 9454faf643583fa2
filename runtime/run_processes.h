#pragma once

#include "core/base/process_team.h"
#include "runtime/run.h"

#include <string>

namespace bubblescope::runtime {

/// The result of a run whose ranks are processes.
struct ProcessRun {
    /// On the root the summary of runPipeline(): losses, digest and memory are equal bit for bit. On other processes
    /// only what concerns their rank is filled in. Errors are those of runPipeline(), equal on all processes, and the
    /// watchdog's for a rank whose process has died.
    Result<RunSummary> summary;
    /// False if a process has died: the job can only be left without MPI_Finalize.
    bool all_alive = true;
};

/// Like runPipeline(), with each process of a job as one rank; all processes call it together with equal configs.
/// `out_dir` must be one folder for all, in which each writes its file. Error: Usage, if the job does not have as many
/// processes as the run has ranks, or if the program was built without MPI.
[[nodiscard]] ProcessRun runOverProcesses(const RunConfig& config, JobControl& control, ProcessTeam& team);

} // namespace bubblescope::runtime
