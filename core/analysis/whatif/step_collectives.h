#pragma once

#include "core/analysis/whatif/run_graph.h"

#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace bubblescope {

/// The nodes at which a rank's pipeline begins and ends, for connecting what runs before and after it.
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

/// Connects the work around the pipeline to the pipeline and to the other ranks, as in the straggler study:
///
///   parameters gathered (per chunk) -> first forward of the chunk
///   last op -> garbage collection -> layer-norm gradients -> embedding gradients (first and last rank)
///           -> gradients reduced and scattered -> separate gradients -> gradients clipped -> optimizer
///
/// If there are separate gradients, the others are reduced after the backward: each chunk's after its last backward,
/// all before the layer-norm's. Leaves out any of this that a trace does not have.
class StepCollectives {
public:
    explicit StepCollectives(RunGraphBuilder& builder) : builder_(builder) {}

    /// Adds the nodes of one rank in one step. `nodes` are in the order in which they ran, and must be in the builder.
    /// `place` names step, replica and rank.
    void add(const RunNode& place, const RankPipeline& pipeline, std::span<const OuterNode> nodes);

    /// The nodes of each collective. Call it after all ranks were added.
    [[nodiscard]] std::vector<std::vector<NodeId>> groups() const;

private:
    /// Step, op, and the op's number on the rank; then replica and rank if only some of them take part, otherwise -1.
    using Key = std::tuple<std::int32_t, RunOp, std::int32_t, std::int32_t, std::int32_t>;

    RunGraphBuilder& builder_;
    std::map<Key, std::vector<NodeId>> groups_;
};

} // namespace bubblescope
