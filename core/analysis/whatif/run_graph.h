#pragma once

#include "core/analysis/accounting/step_parts.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/graph/longest_path.h"
#include "core/schedule/op.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// The parts of a step that take time: ops, transfers between stages, and the work before and after the pipeline. Names
/// are those of the straggler study (straggler_study.h).
enum class RunOp : std::uint8_t {
    Forward,
    Backward,
    BackwardInput,
    BackwardWeight,
    Pair, ///< an overlapped forward and backward that run as one op
    ForwardSend,
    ForwardReceive,
    BackwardSend,
    BackwardReceive,
    ForwardTransfer, ///< for traces that do not distinguish the two sides of a transfer
    BackwardTransfer,
    ParamsAllGather,
    GradsReduceScatter,
    SeparateGradsAllReduce,
    LayernormGradsAllReduce,
    EmbeddingGradsAllReduce,
    ClipMainGrad,
    GarbageCollection,
    Optimizer,
    // Not ops but delays before ops, classified by the records during the delay (DelayParts).
    TransferDelay, ///< a transfer was in progress
    Blocked,
    ReplayedWork,
    LateStart,
    HostGap, ///< HostGaps; only in predictions of other orders
    Meeting, ///< not an op: the time at which all participants of a transfer or collective have arrived
};
inline constexpr std::size_t kRunOpCount = 25;

/// The participants that must be ready before a transfer or collective starts.
enum class Meets : std::uint8_t {
    Nobody,
    Peer,     ///< the other side of a transfer between stages
    Replicas, ///< this rank in every replica
    Ends,     ///< the first and the last rank of the replica, which share the embedding
    Everyone, ///< every rank of every replica
};

struct RunOpInfo {
    RunOp op;
    std::string_view name;  ///< "forward-compute"
    std::string_view group; ///< name in attributions, shared by both sides of a transfer
    bool communication;     ///< true: the usual time is the median; false (compute): the mean
    Meets meets;
};

[[nodiscard]] const RunOpInfo& runOpInfo(RunOp op);
[[nodiscard]] std::optional<RunOp> runOpFromName(std::string_view name);

/// A unit on a rank's compute stream that belongs to the pipeline: F, B, I, W or a pair of them.
[[nodiscard]] constexpr bool isPipelineCompute(RunOp op) {
    return op <= RunOp::Pair;
}
/// A transfer between two stages, or one side of it.
[[nodiscard]] constexpr bool isTransfer(RunOp op) {
    return op >= RunOp::ForwardSend && op <= RunOp::BackwardTransfer;
}
/// Work that runs once per step and rank, before or after the pipeline.
[[nodiscard]] constexpr bool isOuterNode(RunOp op) {
    return op >= RunOp::ParamsAllGather && op <= RunOp::Optimizer;
}

/// True for the delay before an op.
[[nodiscard]] constexpr bool isDelay(RunOp op) {
    return op >= RunOp::TransferDelay && op <= RunOp::HostGap;
}
/// The cause of a node's whole time, if there is exactly one.
[[nodiscard]] std::optional<Cause> causeOf(RunOp op);

/// Work that the rank does itself, inside or outside the pipeline.
[[nodiscard]] constexpr bool isOp(RunOp op) {
    return isPipelineCompute(op) || op == RunOp::GarbageCollection || op == RunOp::Optimizer;
}

[[nodiscard]] RunOp runOp(OpKind kind);

/// The usual time of several measurements: the mean or, for communication, the median. A single disturbed transfer can
/// take many times as long as others and would distort a mean. 0 for delays, and if there are no measurements. Rounded
/// to nanoseconds.
[[nodiscard]] TimeNs usualTime(RunOp op, std::vector<TimeNs> measured);

/// Index of a node in a RunGraph.
using NodeId = TaskIndex;
inline constexpr NodeId kNoNode = kNoTask;

/// A part of a step that takes time, and where it ran.
struct RunNode {
    RunOp op = RunOp::Forward;
    std::int32_t step = 0;    ///< index into RunModel::steps
    std::int32_t replica = 0; ///< index into RunModel::replicas
    Rank rank;                ///< rank whose time this is; for a ForwardTransfer or BackwardTransfer, the sender
    Rank peer{-1};            ///< other rank of a transfer; for a delay, the rank that sent the op's input
    Chunk chunk;
    Microbatch microbatch{-1}; ///< micro-batch of an op, or of the op that receives a transfer
    std::int32_t sequence = 0;
};

/// The dependencies of one or more recorded steps: a TaskGraph whose tasks are ops and transfers, numbered in a
/// topological order. Immutable. Memory: about 64 bytes per node and 8 per dependency.
class RunGraph {
public:
    RunGraph() = default;

    [[nodiscard]] NodeId size() const { return static_cast<NodeId>(nodes_.size()); }
    [[nodiscard]] const std::vector<RunNode>& nodes() const { return nodes_; }
    [[nodiscard]] const RunNode& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
    [[nodiscard]] const TaskGraph& tasks() const { return tasks_; }
    [[nodiscard]] const TaskLists& successors() const { return successors_; }
    /// The nodes that can end a step. The last of these nodes ends the step; see StepEnd.
    [[nodiscard]] std::span<const NodeId> last() const { return last_; }
    [[nodiscard]] std::size_t stepCount() const { return steps_; }

private:
    friend class RunGraphBuilder;

    std::vector<RunNode> nodes_;
    TaskGraph tasks_;
    TaskLists successors_;
    std::vector<NodeId> last_;
    std::size_t steps_ = 0;
};

/// A graph with the duration of each node.
struct TimedGraph {
    RunGraph graph;
    std::vector<TimeNs> durations; ///< per node
    std::vector<OpParts> parts;    ///< parts of each node's duration; empty if unknown
};

/// The event that marks the end of a step.
enum class StepEnd : std::uint8_t {
    Everything, ///< the last node
    Pipeline,   ///< the last op of the pipeline, as in StepTimeline::end; the optimizer may run afterwards
};

class RunGraphBuilder {
public:
    /// Accepts and returns node numbers of this builder; finish() renumbers the nodes.
    NodeId add(const RunNode& node, TimeNs duration);
    NodeId add(const RunNode& node, TimeNs duration, const OpParts& parts);
    void setDuration(NodeId node, TimeNs duration);
    /// `node` waits for the end of `dependency`. The call is ignored if either node is kNoNode.
    void after(NodeId node, NodeId dependency);
    /// Marks the nodes as the sides of one transfer or collective. Each node starts after its dependencies, and
    /// durations are measured from the last start. Call this function when the dependencies of all nodes are known.
    void meet(std::span<const NodeId> nodes);
    [[nodiscard]] NodeId size() const { return static_cast<NodeId>(nodes_.size()); }

    /// Error: Input if nodes wait for each other. `where` names the trace in the message.
    [[nodiscard]] Result<TimedGraph> finish(const std::string& where, StepEnd end = StepEnd::Everything) &&;

private:
    std::vector<RunNode> nodes_;
    std::vector<TimeNs> durations_;
    std::vector<OpParts> parts_; ///< parts of the first nodes' durations; empty if none are known
    std::vector<TaskEdge> edges_;
    std::vector<NodeId> meeting_; ///< per node: the meeting that waits instead of the node
};

/// The ends of a graph's nodes for given durations. A node starts when the last node that it waits for ends, or at 0 if
/// there is none. Durations can be changed and restored, see IncrementalEnds. Stores a reference to the graph, which
/// must outlive it.
class RunSimulation : public IncrementalEnds {
public:
    RunSimulation(const RunGraph& graph, std::vector<TimeNs> durations);

    /// Length of each step: the time from 0 to the end of its last node.
    [[nodiscard]] std::vector<TimeNs> stepTimes() const;
    /// Mean length of the steps; 0 if there are none.
    [[nodiscard]] TimeNs meanStep() const;

private:
    const RunGraph& graph_;
};

} // namespace bubblescope
