#pragma once

#include "app/cli/command_line.h"
#include "core/timeline/step_selection.h"

#include <string>

namespace bubblescope::cli {

// Options that select the steps, replicas and ranks of a run that a command handles. `request` outlives the parsing.

/// --step and --replica. `about` is the help of --step.
void addStepOptions(Command command, StepRequest& request, const std::string& about);
/// --rank, for commands that show ranks.
void addRankOption(Command command, StepRequest& request);

} // namespace bubblescope::cli
