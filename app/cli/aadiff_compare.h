#pragma once

#include "app/cli/command.h"

namespace bubblescope::cli {

/// `compare` of `bubblescope aadiff`.
void addAadiffCompareCommand(Command aadiff, Action& action);

} // namespace bubblescope::cli
