#pragma once

#include "app/cli/command_line.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/request/run_model_request.h"

namespace bubblescope::cli {

/// Options of commands that model a recorded run. `request` outlives the parsing.
void addRunModelOptions(Command command, RunModelRequest& request);

/// The run, with the ranks' clocks aligned as `analyze` does. Shows on a terminal how far it is.
[[nodiscard]] Result<AlignedRun> loadAligned(const RunModelRequest& request);

} // namespace bubblescope::cli
