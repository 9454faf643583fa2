#pragma once

#include "core/analysis/whatif/replay_ops.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/graph/longest_path.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// Position of a node in a ReplayGraph.
using NodeId = TaskIndex;
inline constexpr NodeId kNoNode = kNoTask;

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

/// What waits for what in one or more steps: a TaskGraph whose tasks are ops and transfers, numbered in an order in
/// which they can run. Immutable; memory is about 64 bytes a node and 8 a dependency.
class ReplayGraph {
public:
    ReplayGraph() = default;

    [[nodiscard]] NodeId size() const { return static_cast<NodeId>(nodes_.size()); }
    [[nodiscard]] const std::vector<ReplayNode>& nodes() const { return nodes_; }
    [[nodiscard]] const ReplayNode& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
    [[nodiscard]] const TaskGraph& tasks() const { return tasks_; }
    [[nodiscard]] const TaskLists& successors() const { return successors_; }
    /// Nodes that nothing waits for: a step ends with the last of its own.
    [[nodiscard]] std::span<const NodeId> last() const { return last_; }
    [[nodiscard]] std::size_t stepCount() const { return steps_; }

private:
    friend class ReplayGraphBuilder;

    std::vector<ReplayNode> nodes_;
    TaskGraph tasks_;
    TaskLists successors_;
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
    std::vector<ReplayNode> nodes_;
    std::vector<TimeNs> durations_;
    std::vector<TaskEdge> edges_;
    std::vector<NodeId> meeting_; ///< per node: the one that collects what it waits for
};

/// When everything in a graph ends if it takes given times: a node starts when the last of what it waits for ends, at 0
/// if it waits for nothing. Times can be changed and restored, see IncrementalEnds. Refers to the graph, which must
/// outlive it.
class Replay : public IncrementalEnds {
public:
    Replay(const ReplayGraph& graph, std::vector<TimeNs> durations);

    /// Length of each step, from 0 to the end of its last node.
    [[nodiscard]] std::vector<TimeNs> stepTimes() const;
    /// Their mean; 0 without steps.
    [[nodiscard]] TimeNs meanStep() const;

private:
    const ReplayGraph& graph_;
};

} // namespace bubblescope
