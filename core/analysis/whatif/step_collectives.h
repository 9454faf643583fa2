#pragma once

#include "core/analysis/whatif/run_graph.h"

#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace bubblescope {

/// The first and last nodes of a rank's pipeline, for connecting the work before and after it.
struct RankPipeline {
    NodeId last = kNoNode;             ///< op
    std::vector<NodeId> first_forward; ///< per chunk
    std::vector<NodeId> last_backward; ///< per chunk
};

/// A node before or after a rank's pipeline.
struct OuterNode {
    RunOp op = RunOp::Optimizer;
    Chunk chunk;
    NodeId node = kNoNode;
};

/// Connects the work before and after the pipeline to the pipeline and to other ranks, as in the straggler study:
///
///   parameters gathered (per chunk) -> first forward of the chunk
///   last op -> garbage collection -> layer-norm gradients -> embedding gradients (first and last rank)
///           -> gradients reduced and scattered -> separate gradients -> gradients clipped -> optimizer
///
/// If there are separate gradients, all other gradients are reduced after the backward. Each chunk's reduction comes
/// after its last backward, and all come before the layer norm's. Parts that a trace does not contain are skipped.
class StepCollectives {
public:
    explicit StepCollectives(RunGraphBuilder& builder) : builder_(builder) {}

    /// Adds the nodes of one rank in one step. `nodes` must be in the builder and sorted by execution order. `place`
    /// specifies step, replica and rank.
    void add(const RunNode& place, const RankPipeline& pipeline, std::span<const OuterNode> nodes);

    /// The nodes of each collective. Call this function after adding all ranks.
    [[nodiscard]] std::vector<std::vector<NodeId>> groups() const;

private:
    /// Step, op, the op's index on the rank, then replica and rank (-1 for those across which the collective runs).
    using Key = std::tuple<std::int32_t, RunOp, std::int32_t, std::int32_t, std::int32_t>;

    RunGraphBuilder& builder_;
    std::map<Key, std::vector<NodeId>> groups_;
};

} // namespace bubblescope
