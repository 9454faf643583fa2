#pragma once

#include "app/cli/command_line.h"
#include "core/request/sweep_request.h"

#include <vector>

namespace bubblescope::cli {

/// Whether the help of a command lists options always or only with --help-all.
enum class Listed { Always, InFullHelp };

/// The options that `schedule`, `formula`, `simulate` and `run` share: the schedule and its op times. With `axes`,
/// which receives options with several values, the command compares; see InputOptions.
void addScheduleOptions(Command command, ScheduleRequest& request, Listed listed = Listed::Always,
                        std::vector<SweepAxis>* axes = nullptr);
/// Adds only --pp, --microbatches and --vpp, for commands that create their own order.
void addSizeOptions(Command command, ScheduleRequest& request);
void addTimeOptions(Command command, ScheduleRequest& request, Listed listed = Listed::Always,
                    std::vector<SweepAxis>* axes = nullptr);
/// Adds the options for slices of unequal length or time.
void addSliceOptions(Command command, ScheduleRequest& request);
/// Adds options that only a simulation supports: transfers that cost more than a latency, and times of single ops.
void addSimulationOptions(Command command, ScheduleRequest& request, std::vector<SweepAxis>* axes = nullptr);

} // namespace bubblescope::cli
