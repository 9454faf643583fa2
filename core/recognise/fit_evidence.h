#pragma once

#include "core/recognise/fit_schedule.h"

#include <span>
#include <vector>

namespace bubblescope {

/// Which block of a step's rank is which op of the rank's list: the k-th forward block the k-th forward, and so the
/// backwards. One block number an op; empty where their numbers differ.
[[nodiscard]] std::vector<std::size_t> assignBlocks(std::span<const ComputeBlock> blocks, const std::vector<Op>& ops);

/// How well a schedule of forwards and whole backwards explains a pipeline: all of ScheduleFit but the alternatives.
[[nodiscard]] ScheduleFit judge(const ObservedPipeline& observed, Schedule schedule);

} // namespace bubblescope
