#pragma once

#include "app/cli/command_line.h"
#include "core/graph/simulate_lowered.h"
#include "core/request/lowering_request.h"

namespace bubblescope::cli {

/// Adds --lower and the options of the framework. `request` must outlive parse().
void addLoweringOptions(Command command, LoweringRequest& request);

/// Adds the options for the durations of UNSHARD and REDUCE_GRAD.
void addWeightTimeOptions(Command command, WeightTimes& times);
/// Adds --host-copy and --peer-copy.
void addCopyTimeOptions(Command command, WeightTimes& times);

} // namespace bubblescope::cli
