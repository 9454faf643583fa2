#pragma once

#include "app/cli/command_line.h"
#include "core/request/queue_request.h"

namespace bubblescope::cli {

/// Adds --communicators and the options that depend on it; with `timed`, also those that affect only times. `request`
/// must outlive parse().
void addQueueOptions(Command command, QueueRequest& request, bool timed = true);

} // namespace bubblescope::cli
