#pragma once

#include "app/cli/command_line.h"
#include "core/request/lowering_request.h"

namespace bubblescope::cli {

/// --lower and the framework's own options. `request` outlives the parsing.
void addLoweringOptions(Command command, LoweringRequest& request);

} // namespace bubblescope::cli
