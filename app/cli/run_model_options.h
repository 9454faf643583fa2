#pragma once

#include "app/cli/command_line.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/request/run_model_request.h"

namespace bubblescope::cli {

/// Adds the options for commands that model a recorded run. `request` must outlive parse().
void addRunModelOptions(Command command, RunModelRequest& request);

/// Loads the run and aligns the clocks of the ranks, as `analyze` does. Shows progress on a terminal.
[[nodiscard]] Result<AlignedRun> loadAligned(const RunModelRequest& request);

} // namespace bubblescope::cli
