#pragma once

#include "core/recognise/host_events.h"
#include "core/recognise/profiler_marks.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// The work of a rank between two transfers: one forward or one backward, or part of one (a block has one kind).
struct ComputeBlock {
    bool backward = false;
    TimeNs host_start{0};
    TimeNs host_end{0};
    GpuWork::Span work;
    TimeNs device_idle{0};              ///< see TimelineOp
    TimeNs busy{0};                     ///< total duration of its events
    bool transfer_before = false;       ///< true if there was one since the previous block or the optimizer
    int sends_before = 0;               ///< of those transfers, the ones marked as sends
    std::optional<std::size_t> forward; ///< for a backward: the block of its forward, if autograd's flows show it
    std::size_t calls_before = 0;       ///< the number of RankBlocks::calls before it
};

/// A rank's trace as blocks.
struct RankBlocks {
    std::int64_t rank = 0;
    std::vector<ComputeBlock> blocks; ///< in the host's order
    std::vector<HostEvent> transfers; ///< transfers with known direction
    std::vector<std::uint64_t> calls; ///< the sequence of communication calls, with a number for each distinct one
    bool on_device = false;
};

/// Divides a rank's events into blocks. Omits blocks that take very little time compared to the others (creating
/// buffers, storing results), because they are not ops, and forwards without a gradient if the trace shows that.
[[nodiscard]] RankBlocks computeBlocks(const HostEvents& events, std::int64_t rank);

/// "FFBFBB": the kinds of some blocks.
[[nodiscard]] std::string letters(std::span<const ComputeBlock> blocks);

/// The similarity of a sequence to itself shifted by `lag`: 1 if it repeats, about 0 if it agrees only by chance. It is
/// the autocorrelation of the indicators of its distinct values.
[[nodiscard]] double autocorrelation(std::span<const std::uint64_t> sequence, std::size_t lag);

/// The work of the ranks of one pipeline in one step.
struct CutStep {
    std::int64_t index = 0;
    std::int64_t replica = 0;
    std::vector<std::vector<ComputeBlock>> ranks; ///< ComputeBlock::forward counts within the step
};

struct StepCuts {
    std::vector<CutStep> steps;
    std::string evidence;  ///< how the steps were found, for display
    double regularity = 1; ///< how regularly the first rank's communication repeats from step to step; 1 for one step
};

/// Divides the blocks of a pipeline's ranks into steps: at the profiler's marks if every rank has them (`marks`, one
/// list per rank), otherwise where no forward of the first rank still awaits its backward. In each step, the first
/// rank's first forward precedes all other ops and its last backward follows them, so its times also bound the other
/// ranks' ops.
[[nodiscard]] StepCuts cutSteps(std::span<const RankBlocks> ranks, std::span<const std::vector<Mark>> marks);

} // namespace bubblescope
