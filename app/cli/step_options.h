#pragma once

#include "app/cli/command_line.h"
#include "core/timeline/step_selection.h"

#include <string>

namespace bubblescope::cli {

// Options that select steps, replicas and ranks of a run. `request` must outlive
// parse().

/// Adds --step and --replica. `about` is the help text of --step.
void addStepOptions(Command command, StepRequest& request, const std::string& about);
/// Adds --rank, for commands that show individual ranks.
void addRankOption(Command command, StepRequest& request);

} // namespace bubblescope::cli
