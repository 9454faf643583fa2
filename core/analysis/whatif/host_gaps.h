#pragma once

#include "core/analysis/whatif/run_graph.h"
#include "core/graph/step_replay.h"

#include <cstdint>
#include <map>
#include <utility>

namespace bubblescope {

/// How long after it could an op starts in delays too short to be told from the clocks' error: mostly the host's time
/// to launch the next op. The accounting calls them unknown. Per rank and kind of op, the mean over steps; these delays
/// are all short, so that no single one counts for much.
class HostGaps {
public:
    /// Adds a step's. Nothing where records were lost: what an op waited for may be among them.
    void add(const StepGraph& graph, const StepKnowledge& known);
    /// Of a kind that the rank did not run, the mean of those that it did.
    [[nodiscard]] TimeNs of(Rank rank, RunOp kind) const;
    /// Over all ops.
    [[nodiscard]] TimeNs mean() const;

private:
    struct Sum {
        TimeNs time{0};
        std::int64_t count = 0;
    };
    std::map<std::pair<std::int32_t, RunOp>, Sum> sums_; ///< Pair, under which none is kept, means all kinds
};

/// The kinds of op under which to look for what is known of a kind on a rank, one after the other: its own, the other
/// one that makes an input's gradient, all kinds (RunOp::Pair).
template <class Find>
[[nodiscard]] auto findByKind(RunOp kind, Find find) {
    auto found = find(kind);
    if (!found && kind == RunOp::BackwardInput) found = find(RunOp::Backward);
    if (!found && kind == RunOp::Backward) found = find(RunOp::BackwardInput);
    return found ? found : find(RunOp::Pair);
}

} // namespace bubblescope
