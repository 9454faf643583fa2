#pragma once

#include "core/recognise/host_events.h"
#include "core/recognise/profiler_marks.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// The work of a rank between two transfers: all or part of one forward or one backward, never parts of both.
struct ComputeBlock {
    bool backward = false;
    TimeNs host_start{0};
    TimeNs host_end{0};
    GpuWork::Span work;
    TimeNs device_idle{0};              ///< see TimelineOp
    TimeNs busy{0};                     ///< total duration of the block's events
    bool transfer_before = false;       ///< true if there was a transfer since the previous block or optimizer
    int sends_before = 0;               ///< number of these transfers that are marked as sends
    std::optional<std::size_t> forward; ///< for a backward: block of its forward, if an autograd flow links them
    std::size_t calls_before = 0;       ///< number of RankBlocks::calls before this block
};

/// A rank's trace, divided into blocks.
struct RankBlocks {
    std::int64_t rank = 0;
    std::vector<ComputeBlock> blocks;       ///< in launch order on the host
    std::vector<HostEvent> transfers;       ///< transfers with known direction
    std::vector<std::uint64_t> calls;       ///< sequence of communication calls; equal calls have equal numbers
    std::vector<std::string> communicators; ///< see HostEvent::communicator
    bool on_device = false;
};

/// Divides a rank's events into blocks. Omits blocks that are very short compared with others (buffer creation, storing
/// results), because they are not ops. Also omits forwards that need no gradient, if the trace identifies them.
[[nodiscard]] RankBlocks computeBlocks(const HostEvents& events, std::int64_t rank);

/// The kinds of the blocks as a string such as "FFBFBB".
[[nodiscard]] std::string letters(std::span<const ComputeBlock> blocks);

/// The similarity of a sequence to itself shifted by `lag`: 1 if it repeats, about 0 if the two agree only by chance.
/// Computed as the autocorrelation of the indicators of the sequence's distinct values.
[[nodiscard]] double autocorrelation(std::span<const std::uint64_t> sequence, std::size_t lag);

/// The work of one pipeline's ranks in one step.
struct CutStep {
    std::int64_t index = 0;
    std::int64_t replica = 0;
    std::vector<std::vector<ComputeBlock>> ranks; ///< ComputeBlock::forward is an index within the step
};

struct StepCuts {
    std::vector<CutStep> steps;
    std::string evidence;  ///< description of how the steps were found, for display
    double regularity = 1; ///< similarity of the first rank's communication between steps; 1 for a single step
};

/// Divides the blocks of a pipeline's ranks into steps: at the profiler's marks if every rank has them (`marks`, one
/// list per rank), otherwise wherever every forward of the first rank has been followed by its backward. In each step,
/// the first rank runs the first forward and the last backward of all ranks, so its times also bound the ops on other
/// ranks.
[[nodiscard]] StepCuts cutSteps(std::span<const RankBlocks> ranks, std::span<const std::vector<Mark>> marks);

} // namespace bubblescope
