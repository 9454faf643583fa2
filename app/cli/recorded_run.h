#pragma once

#include "core/analysis/report.h"
#include "core/base/process_team.h"
#include "core/report/document.h"
#include "runtime/run.h"

#include <string>

namespace bubblescope::cli {

/// A training run together with the analysis of its trace.
struct RecordedRun {
    runtime::RunSummary training;
    Run run;
    RunReport report;
};

/// True if the job has more than one process.
[[nodiscard]] inline bool severalProcesses(const ProcessTeam* team) {
    return team != nullptr && team->size() > 1;
}

/// Trains, records into the folder `out` (by default a temporary one), and analyses the trace. In a `team`, each
/// process is a rank; only the root analyses the trace, and the others return an empty analysis. If the run fails,
/// every process returns the error. If a process dies, the others exit here with code 4.
[[nodiscard]] Result<RecordedRun> recordRun(runtime::RunConfig config, const std::string& out, ProcessTeam* team);

/// Report of `run`: the training, the checks per step (if any), and the analysis. `reader` selects between text and
/// JSON.
[[nodiscard]] report::Document toDocument(const RecordedRun& recorded, report::Reader reader);

/// Adds the losses and the digest of a training run to a report; as data, also the memory and the counts.
void addTraining(report::Section& document, const runtime::RunSummary& training);
[[nodiscard]] report::Section trainingData(const runtime::RunSummary& training);

/// The digest as printed and as stored in documents.
[[nodiscard]] std::string digestText(std::uint64_t digest);

} // namespace bubblescope::cli
