#pragma once

#include "app/cli/command_line.h"
#include "core/graph/dispatch.h"

namespace bubblescope::cli {

/// Adds --dispatch and --in-flight, for commands that execute an order.
void addDispatchOptions(Command command, DispatchPolicy& policy);

} // namespace bubblescope::cli
