#pragma once

#include "core/analysis/whatif/replay_model.h"
#include "core/trace/trace.h"

#include <span>
#include <string_view>

namespace bubblescope {

/// The rule that recognises timelines of ByteDance's straggler study, as Run::annotation names it.
inline constexpr std::string_view kStragglerRule = "ByteDance timeline";

/// The dependency model of the OSDI '25 straggler study (Lin et al., "Understanding Stragglers in Large Model Training
/// Using What-if Analysis", arXiv 2505.05713), from the raw slices of its timelines. Six streams a worker:
///
/// - compute: forwards and backwards in the order in which they ran;
/// - four of transfers between stages (forward and backward, send and receive), each in order. A send starts after the
///   op that made its payload. A receive starts after the op of its kind before the one it feeds, which waits for it.
///   The first backward's transfers start no sooner than the op before the last forward of the warm-up ended;
/// - data-parallel communication, and what else surrounds the pipeline: surroundings.h.
///
/// A transfer or collective starts when all who take part have, and takes what is left until its end: on each
/// node end − max(start), never less than 0. Transfers name no micro-batch: they are matched with ops in order. Those
/// that the recorder wrote before the first op or after the last one, without launching any, are left out.
///
/// `steps` are the complete ones; of these, those that every replica completed are taken. `model` has names and sizes
/// already. Errors: Input, when there is none, or when transfers cannot be matched with ops.
[[nodiscard]] Result<ReplayModel> stragglerGraph(const Trace& trace, std::span<const StepTimeline* const> steps,
                                                 ReplayModel model);

} // namespace bubblescope
