#pragma once

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
/// The same into a list whose memory serves again.
void matchTransfers(const StepTimeline& step, std::vector<MatchedTransfer>& all);

} // namespace bubblescope
