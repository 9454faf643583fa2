#pragma once

#include "core/analysis/clocks/solve.h"
#include "core/timeline/step_timeline.h"

#include <vector>

namespace bubblescope {

/// Both sides of a transfer that a step recorded. The spans lie in the step, which must outlive this.
struct MatchedTransfer {
    Rank from;
    Rank to;
    const CommSpan* send = nullptr;
    const CommSpan* receive = nullptr;
};

/// The sends and receives that belong together, by payload, micro-batch, sequence slice and stage; of several
/// equal ones the first counts. Those of stages or micro-batches that the step does not have are left out. In that
/// order; linear in transfers and in what the step can have of them.
[[nodiscard]] std::vector<MatchedTransfer> matchTransfers(const StepTimeline& step);
/// The same into a list whose memory is reused.
void matchTransfers(const StepTimeline& step, std::vector<MatchedTransfer>& all);

/// How many events of each source were taken.
struct StepEventCounts {
    std::size_t transfers = 0;
    std::size_t op_orders = 0;
};

/// How an op's times relate to those of the op that it gets its input from.
enum class OpOrder {
    EndToStart, ///< starts when that has ended, at the earliest (has started, if it ran in a pair)
    StartToEnd, ///< ends when that has started, at the earliest: where ops hold the waits around them
};

/// What a step shows of its ranks' clocks: a transfer's receive does not end before its send starts. Where a transfer
/// was not recorded on both sides, the order of the ops takes its place. `clock_of_rank` has an entry per rank.
StepEventCounts addStepEvents(const StepTimeline& step, const std::vector<int>& clock_of_rank, OpOrder op_order,
                              std::vector<Precedence>& into);

} // namespace bubblescope
