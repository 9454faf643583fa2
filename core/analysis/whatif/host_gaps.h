#pragma once

#include "core/analysis/whatif/run_graph.h"
#include "core/graph/step_replay.h"

#include <cstdint>
#include <map>
#include <utility>

namespace bubblescope {

/// How much later than possible an op starts, for delays below the clocks' error: mostly the host's time to launch the
/// next op. The accounting calls them unknown. Per rank and kind of op, the mean over steps; these delays are all
/// short, so no single one matters.
class HostGaps {
public:
    /// Adds those of a step. Adds nothing if records were lost, because they may contain what an op waited for.
    void add(const StepGraph& graph, const StepKnowledge& known);
    /// For a kind that the rank did not run, the mean over the kinds that it did.
    [[nodiscard]] TimeNs of(Rank rank, RunOp kind) const;
    /// Over all ops.
    [[nodiscard]] TimeNs mean() const;

private:
    struct Sum {
        TimeNs time{0};
        std::int64_t count = 0;
    };
    std::map<std::pair<std::int32_t, RunOp>, Sum> sums_; ///< Pair, which has no entries of its own, means all kinds
};

/// The kinds of op to look up for a kind on a rank, in this order: its own, the other kind that produces an input
/// gradient, all kinds (RunOp::Pair).
template <class Find>
[[nodiscard]] auto findByKind(RunOp kind, Find find) {
    auto found = find(kind);
    if (!found && kind == RunOp::BackwardInput) found = find(RunOp::Backward);
    if (!found && kind == RunOp::Backward) found = find(RunOp::BackwardInput);
    return found ? found : find(RunOp::Pair);
}

} // namespace bubblescope
