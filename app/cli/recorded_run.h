#pragma once

#include "app/cli/output.h"
#include "core/diagnose/report.h"
#include "runtime/run.h"

#include <string>

namespace bubblescope::cli {

/// A training run and what its trace says of it.
struct RecordedRun {
    runtime::RunSummary training;
    Run run;
    RunReport report;
};

/// Trains, records into the folder `out` and analyses; without one the trace is kept until that is done.
[[nodiscard]] Result<RecordedRun> recordRun(runtime::RunConfig config, const std::string& out);

/// The document of `run --json`: the analysis and the training.
[[nodiscard]] Json toJson(const RecordedRun& recorded);

/// Loss and weights, for people.
[[nodiscard]] std::string trainingText(const runtime::RunSummary& training);

/// As it is shown and put into documents.
[[nodiscard]] std::string digestText(std::uint64_t digest);

} // namespace bubblescope::cli
