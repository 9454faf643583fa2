#pragma once

#include "core/analysis/whatif/dependencies.h"
#include "core/analysis/whatif/replay_ops.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/time.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope {

/// Something that takes time in a step, and where it belongs.
struct ReplayNode {
    ReplayOp op = ReplayOp::Forward;
    std::int32_t step = 0;    ///< position in ReplayModel::steps
    std::int32_t replica = 0; ///< position in ReplayModel::replicas
    Rank rank;                ///< who spends the time; of a ForwardTransfer or BackwardTransfer, who sends
    Rank peer{-1};            ///< the other rank of a transfer
    Chunk chunk;
    Microbatch microbatch{-1}; ///< of ops; of transfers that of the op they feed
    std::int32_t sequence = 0;
};

/// What waits for what in one or more steps: a DependencyGraph whose nodes are ops and transfers, with the way back
/// from each to those that wait for it. Immutable; memory is about 64 bytes a node and 8 a dependency.
class ReplayGraph {
public:
    ReplayGraph() = default;

    [[nodiscard]] NodeId size() const { return static_cast<NodeId>(nodes_.size()); }
    [[nodiscard]] const std::vector<ReplayNode>& nodes() const { return nodes_; }
    [[nodiscard]] const ReplayNode& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
    [[nodiscard]] const DependencyGraph& order() const { return order_; }
    [[nodiscard]] std::span<const NodeId> dependents(NodeId id) const { return slice(dependents_, id); }
    /// Nodes that nothing waits for: a step ends with the last of its own.
    [[nodiscard]] std::span<const NodeId> last() const { return last_; }
    [[nodiscard]] std::size_t stepCount() const { return steps_; }

private:
    friend class ReplayGraphBuilder;
    struct Lists {
        std::vector<NodeId> begin; ///< per node, and the end of the last
        std::vector<NodeId> entries;
    };
    static std::span<const NodeId> slice(const Lists& lists, NodeId id) {
        const auto at = static_cast<std::size_t>(id);
        const auto begin = static_cast<std::size_t>(lists.begin[at]);
        return std::span(lists.entries).subspan(begin, static_cast<std::size_t>(lists.begin[at + 1]) - begin);
    }

    std::vector<ReplayNode> nodes_;
    DependencyGraph order_;
    Lists dependents_;
    std::vector<NodeId> last_;
    std::size_t steps_ = 0;
};

/// A graph with the time that each node takes.
struct TimedGraph {
    ReplayGraph graph;
    std::vector<TimeNs> durations; ///< per node
};

/// Puts a graph together.
class ReplayGraphBuilder {
public:
    /// Numbers given here are those of this builder; finish() renumbers.
    NodeId add(const ReplayNode& node, TimeNs duration);
    void setDuration(NodeId node, TimeNs duration);
    /// `node` waits for the end of `dependency`. kNoNode on either side says nothing.
    void after(NodeId node, NodeId dependency);
    /// Each then starts behind its own dependencies, and all go on once the last has started: a transfer or
    /// collective of these takes place. To be called when the dependencies of all are known.
    void meet(std::span<const NodeId> nodes);
    [[nodiscard]] NodeId size() const { return static_cast<NodeId>(nodes_.size()); }

    /// Error: Input, when nodes wait for each other. `where` names the trace.
    [[nodiscard]] Result<TimedGraph> finish(const std::string& where) &&;

private:
    struct Edge {
        NodeId from;
        NodeId to;
    };
    std::vector<ReplayNode> nodes_;
    std::vector<TimeNs> durations_;
    std::vector<Edge> edges_;
    std::vector<NodeId> meeting_; ///< per node: the one that collects what it waits for
};

} // namespace bubblescope
