#pragma once

#include "app/cli/command_line.h"
#include "core/request/sweep_request.h"

#include <vector>

namespace bubblescope::cli {

/// Whether the help of a command lists options always, or only with --help-all.
enum class Listed { Always, InFullHelp };

/// The options that `schedule`, `formula`, `simulate` and `run` share: which schedule, at which times. With `axes`,
/// which get those of several values, they compare; see InputOptions.
void addScheduleOptions(Command command, ScheduleRequest& request, Listed listed = Listed::Always,
                        std::vector<SweepAxis>* axes = nullptr);
/// --pp, --microbatches and --vpp alone, for commands that make an order of their own.
void addSizeOptions(Command command, ScheduleRequest& request);
void addTimeOptions(Command command, ScheduleRequest& request, Listed listed = Listed::Always,
                    std::vector<SweepAxis>* axes = nullptr);
/// What only a simulation can follow: transfers that cost more than a latency, and times of single ops.
void addSimulationOptions(Command command, ScheduleRequest& request, std::vector<SweepAxis>* axes = nullptr);

} // namespace bubblescope::cli
