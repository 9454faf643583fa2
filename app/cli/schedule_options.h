#pragma once

#include "app/cli/command_line.h"
#include "core/request/schedule_request.h"

namespace bubblescope::cli {

/// The options that `schedule`, `formula`, `simulate` and `run` share: which schedule, at which times.
void addScheduleOptions(Command command, ScheduleRequest& request);
/// --pp, --microbatches and --vpp alone, for commands that make an order of their own.
void addSizeOptions(Command command, ScheduleRequest& request);
void addTimeOptions(Command command, ScheduleRequest& request);
/// What only a simulation can follow: transfers that cost more than a latency, and times of single ops.
void addSimulationOptions(Command command, ScheduleRequest& request);

} // namespace bubblescope::cli
