#pragma once

#include "app/cli/command_line.h"
#include "core/request/sweep_request.h"

#include <vector>

namespace bubblescope::cli {

void addSendModeOption(Command command, SendMode& mode);

/// Adds the options for transfer costs other than latency. `request` must outlive
/// parse().
void addTransferOptions(Command command, ScheduleRequest& request, std::vector<SweepAxis>* axes = nullptr);

} // namespace bubblescope::cli
