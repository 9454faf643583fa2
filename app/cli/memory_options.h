#pragma once

#include "app/cli/command_line.h"
#include "app/cli/schedule_options.h"
#include "core/request/memory_request.h"

namespace bubblescope::cli {

/// Adds --memory-model and --memory-budget. `request` must outlive parse().
void addMemoryOptions(Command command, MemoryRequest& request, Listed listed = Listed::InFullHelp);

} // namespace bubblescope::cli
