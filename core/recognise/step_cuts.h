#pragma once

#include "core/recognise/compute_blocks.h"
#include "core/recognise/profiler_marks.h"

#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// What the ranks of one pipeline computed in one step.
struct CutStep {
    std::int64_t index = 0;
    std::int64_t replica = 0;
    std::vector<std::vector<ComputeBlock>> ranks; ///< ComputeBlock::forward counts within the step
};

struct StepCuts {
    std::vector<CutStep> steps;
    std::string evidence;  ///< how the steps were found, for people
    double regularity = 1; ///< how well the first rank's communication repeats from step to step; 1 for one step
};

/// Divides the blocks of a pipeline's ranks into steps: at the profiler's marks if every rank has them (`marks`, one
/// list per rank), else where the first rank has no forward left whose backward is still to come. Since its first
/// forward precedes and its last backward follows all others of a step, its times bound the other ranks' too.
[[nodiscard]] StepCuts cutSteps(std::span<const RankBlocks> ranks, std::span<const std::vector<Mark>> marks);

} // namespace bubblescope
