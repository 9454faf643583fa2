#pragma once

#include "app/cli/command_line.h"
#include "core/request/step_texts.h"

#include <string>

namespace bubblescope::cli {

// Options that select the steps, replicas and ranks of a run that a command handles. `texts` outlives the parsing.

/// --step and --replica. `about` is the help of --step.
void addStepOptions(Command command, StepTexts& texts, const std::string& about);
/// --rank, for commands that show ranks.
void addRankOption(Command command, StepTexts& texts);

} // namespace bubblescope::cli
