#pragma once

#include "app/cli/command_line.h"
#include "core/request/schedule_request.h"

namespace bubblescope::cli {

/// Whether the help of a command lists options always, or only with --help-all.
enum class Listed { Always, InFullHelp };

/// The options that `schedule`, `formula`, `simulate` and `run` share: which schedule, at which times.
void addScheduleOptions(Command command, ScheduleRequest& request, Listed listed = Listed::Always);
/// Only --pp, --microbatches and --vpp, for commands that make an order of their own.
void addSizeOptions(Command command, ScheduleRequest& request);
void addTimeOptions(Command command, ScheduleRequest& request, Listed listed = Listed::Always);
/// Options that only a simulation can use: transfers that cost more than a latency, and times of single ops.
void addSimulationOptions(Command command, ScheduleRequest& request);

} // namespace bubblescope::cli
