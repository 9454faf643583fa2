#pragma once

#include "app/cli/command_line.h"
#include "core/graph/simulate_lowered.h"
#include "core/request/lowering_request.h"

#include <optional>

namespace bubblescope::cli {

/// Adds --lower and the options of the framework. `request` must outlive parse().
void addLoweringOptions(Command command, LoweringRequest& request);

/// Adds --unshard and --reduce-grad.
void addGatherTimeOptions(Command command, WeightTimes& times);
/// Adds --nodes.
void addNodesOption(Command command, std::optional<int>& nodes);
/// Adds the options for the durations of all side actions.
void addWeightTimeOptions(Command command, WeightTimes& times);
/// Adds --host-copy and --peer-copy.
void addCopyTimeOptions(Command command, WeightTimes& times);

} // namespace bubblescope::cli
