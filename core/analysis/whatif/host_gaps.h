#pragma once

#include "core/analysis/whatif/run_graph.h"
#include "core/graph/step_replay.h"

#include <cstdint>
#include <map>
#include <utility>

namespace bubblescope {

/// The mean delays of op starts that are below the clocks' error: mostly the host's time to launch the next op. The
/// accounting classifies them as unknown. Per rank and kind of op, over all steps; these delays are all short, so no
/// single one matters.
class HostGaps {
public:
    /// Adds the delays of a step. Ignores steps with lost records, because the lost ones may contain what an op waited
    /// for.
    void add(const StepGraph& graph, const StepKnowledge& known);
    /// If the rank did not run the kind, returns the mean over the kinds that it did run.
    [[nodiscard]] TimeNs of(Rank rank, RunOp kind) const;
    /// The mean over all ops.
    [[nodiscard]] TimeNs mean() const;

private:
    struct Sum {
        TimeNs time{0};
        std::int64_t count = 0;
    };
    std::map<std::pair<std::int32_t, RunOp>, Sum> sums_; ///< Pair, which has no entries of its own, means all kinds
};

/// The kinds of op to look up for a kind on a rank, in this order: the kind itself, the other kind that produces an
/// input gradient, all kinds (RunOp::Pair).
template <class Find>
[[nodiscard]] auto findByKind(RunOp kind, Find find) {
    auto found = find(kind);
    if (!found && kind == RunOp::BackwardInput) found = find(RunOp::Backward);
    if (!found && kind == RunOp::Backward) found = find(RunOp::BackwardInput);
    return found ? found : find(RunOp::Pair);
}

} // namespace bubblescope
