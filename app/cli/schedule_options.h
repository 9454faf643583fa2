#pragma once

#include "app/cli/command_line.h"
#include "core/request/sweep_request.h"

#include <vector>

namespace bubblescope::cli {

/// Selects whether options are listed in the default help or only with --help-all.
enum class Listed { Always, InFullHelp };

/// Adds the options for the schedule and its op times, which `schedule`, `formula`, `simulate` and `run` share. If
/// `axes` is set, each option takes several values to compare; see InputOptions.
void addScheduleOptions(Command command, ScheduleRequest& request, Listed listed = Listed::Always,
                        std::vector<SweepAxis>* axes = nullptr);
/// Adds only --pp, --microbatches and --vpp, for commands that create their own order.
void addSizeOptions(Command command, ScheduleRequest& request);
void addTimeOptions(Command command, ScheduleRequest& request, Listed listed = Listed::Always,
                    std::vector<SweepAxis>* axes = nullptr);
/// Adds the options for slices of unequal length or duration.
void addSliceOptions(Command command, ScheduleRequest& request);
/// Adds the options that only simulations support: transfer costs other than latency, and durations of individual ops.
void addSimulationOptions(Command command, ScheduleRequest& request, std::vector<SweepAxis>* axes = nullptr);

} // namespace bubblescope::cli
