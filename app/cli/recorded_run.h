#pragma once

#include "core/analysis/report.h"
#include "core/base/process_team.h"
#include "core/report/document.h"
#include "runtime/run.h"

#include <string>

namespace bubblescope::cli {

/// A training run and what its trace shows of it.
struct RecordedRun {
    runtime::RunSummary training;
    Run run;
    RunReport report;
};

/// Whether the job has processes other than this one.
[[nodiscard]] inline bool severalProcesses(const ProcessTeam* team) {
    return team != nullptr && team->size() > 1;
}

/// Trains, records into the folder `out` and analyses; without a folder the trace is deleted after the analysis. With a
/// `team` of several processes each of them is a rank; only the root analyses, the others return an empty analysis. If
/// the run fails, each process reports it; if one has died, the others end here with exit code 4.
[[nodiscard]] Result<RecordedRun> recordRun(runtime::RunConfig config, const std::string& out, ProcessTeam* team);

/// The results of `run`: the training, what it checked step by step if it did, and the analysis. `reader` selects the
/// form of the document: Text or Programs.
[[nodiscard]] report::Document toDocument(const RecordedRun& recorded, report::Reader reader);

/// As it is shown and put into documents.
[[nodiscard]] std::string digestText(std::uint64_t digest);

} // namespace bubblescope::cli
