#pragma once

#include "core/analysis/report.h"
#include "core/base/process_team.h"
#include "core/report/document.h"
#include "runtime/run.h"

#include <string>

namespace bubblescope::cli {

/// A training run and the analysis of its trace.
struct RecordedRun {
    runtime::RunSummary training;
    Run run;
    RunReport report;
};

/// True if the job has other processes.
[[nodiscard]] inline bool severalProcesses(const ProcessTeam* team) {
    return team != nullptr && team->size() > 1;
}

/// Trains, records into the folder `out`, and analyses the trace; without a folder the trace is deleted afterwards.
/// With a `team` of several processes, each process is a rank; only the root analyses, and the others return an empty
/// analysis. If the run fails, each process reports that. If a process has died, the others end here with exit code 4.
[[nodiscard]] Result<RecordedRun> recordRun(runtime::RunConfig config, const std::string& out, ProcessTeam* team);

/// The results of `run`: the training, the checks step by step if there were any, and the analysis. `reader` selects
/// the form of the document: Text or Programs.
[[nodiscard]] report::Document toDocument(const RecordedRun& recorded, report::Reader reader);

/// The digest as shown to users and in documents.
[[nodiscard]] std::string digestText(std::uint64_t digest);

} // namespace bubblescope::cli
