#include "core/analysis/whatif/run_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::string_view kForwardComm = "forward-pp-comm";
constexpr std::string_view kBackwardComm = "backward-pp-comm";

constexpr RunOpInfo compute(RunOp op, std::string_view name) {
    return {op, name, name, false, Meets::Nobody};
}
constexpr RunOpInfo collective(RunOp op, std::string_view name, Meets meets) {
    return {op, name, name, true, meets};
}

constexpr std::array<RunOpInfo, kRunOpCount> kOps{
    compute(RunOp::Forward, "forward-compute"),
    compute(RunOp::Backward, "backward-compute"),
    compute(RunOp::BackwardInput, "backward-input-compute"),
    compute(RunOp::BackwardWeight, "backward-weight-compute"),
    compute(RunOp::Pair, "forward-backward-pair"),
    RunOpInfo{RunOp::ForwardSend, "forward-send", kForwardComm, true, Meets::Peer},
    RunOpInfo{RunOp::ForwardReceive, "forward-recv", kForwardComm, true, Meets::Peer},
    RunOpInfo{RunOp::BackwardSend, "backward-send", kBackwardComm, true, Meets::Peer},
    RunOpInfo{RunOp::BackwardReceive, "backward-recv", kBackwardComm, true, Meets::Peer},
    RunOpInfo{RunOp::ForwardTransfer, "forward-transfer", kForwardComm, true, Meets::Nobody},
    RunOpInfo{RunOp::BackwardTransfer, "backward-transfer", kBackwardComm, true, Meets::Nobody},
    collective(RunOp::ParamsAllGather, "params-all-gather", Meets::Replicas),
    collective(RunOp::GradsReduceScatter, "grads-reduce-scatter", Meets::Replicas),
    collective(RunOp::SeparateGradsAllReduce, "separate-grads-all-reduce", Meets::Replicas),
    // Among tensor-parallel ranks, which a trace represents by the first one.
    collective(RunOp::LayernormGradsAllReduce, "layernorm-grads-all-reduce", Meets::Nobody),
    collective(RunOp::EmbeddingGradsAllReduce, "embedding-grads-all-reduce", Meets::Ends),
    collective(RunOp::ClipMainGrad, "optimizer-clip-main-grad", Meets::Everyone),
    compute(RunOp::GarbageCollection, "gc"),
    compute(RunOp::Optimizer, "optimizer"),
    RunOpInfo{RunOp::TransferDelay, "transfer-delay", "transfer-delay", true, Meets::Nobody},
    compute(RunOp::Blocked, "blocked"),
    compute(RunOp::ReplayedWork, "replayed-work"),
    compute(RunOp::LateStart, "late-start"),
    compute(RunOp::HostGap, "host-gap"),
    compute(RunOp::Meeting, "meeting"),
};

constexpr bool inOrder() {
    for (std::size_t i = 0; i < kOps.size(); ++i) {
        if (kOps[i].op != static_cast<RunOp>(i)) return false;
    }
    return true;
}
static_assert(inOrder());

} // namespace

const RunOpInfo& runOpInfo(RunOp op) {
    return kOps[static_cast<std::size_t>(op)];
}

std::optional<RunOp> runOpFromName(std::string_view name) {
    const auto known = std::ranges::find(kOps, name, &RunOpInfo::name);
    if (known == kOps.end() || known->op >= RunOp::HostGap) return std::nullopt;
    return known->op;
}

RunOp runOp(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return RunOp::Forward;
    case OpKind::Backward: return RunOp::Backward;
    case OpKind::BackwardInput: return RunOp::BackwardInput;
    case OpKind::BackwardWeight: return RunOp::BackwardWeight;
    case OpKind::Optimizer: break;
    }
    return RunOp::Optimizer;
}

std::optional<Cause> causeOf(RunOp op) {
    switch (op) {
    case RunOp::Blocked: return Cause::Peer;
    case RunOp::ReplayedWork: return Cause::Replay;
    case RunOp::LateStart: return Cause::LateStart;
    case RunOp::HostGap: return Cause::Unknown;
    default: break;
    }
    if (runOpInfo(op).communication) return Cause::Communication;
    return std::nullopt;
}

TimeNs usualTime(RunOp op, std::vector<TimeNs> measured) {
    if (measured.empty() || isDelay(op)) return TimeNs{0};
    const auto count = static_cast<std::int64_t>(measured.size());
    if (runOpInfo(op).communication) {
        const auto middle = measured.begin() + count / 2;
        std::ranges::nth_element(measured, middle);
        return count % 2 != 0 ? *middle : (*middle + *std::max_element(measured.begin(), middle)) / 2;
    }
    // Sums cannot overflow: a step of several hours with a million ops is far below 2^63 ns.
    TimeNs sum{0};
    for (const TimeNs time : measured)
        sum += time;
    return TimeNs{(sum.count() + count / 2) / count};
}

NodeId RunGraphBuilder::add(const RunNode& node, TimeNs duration) {
    nodes_.push_back(node);
    durations_.push_back(std::max(duration, TimeNs{0}));
    meeting_.push_back(kNoNode);
    return size() - 1;
}

NodeId RunGraphBuilder::add(const RunNode& node, TimeNs duration, const OpParts& parts) {
    const NodeId id = add(node, duration);
    parts_.resize(nodes_.size());
    parts_.back() = parts;
    return id;
}

void RunGraphBuilder::setDuration(NodeId node, TimeNs duration) {
    durations_[static_cast<std::size_t>(node)] = std::max(duration, TimeNs{0});
}

void RunGraphBuilder::after(NodeId node, NodeId dependency) {
    if (node == kNoNode || dependency == kNoNode) return;
    edges_.push_back({dependency, node});
}

void RunGraphBuilder::meet(std::span<const NodeId> nodes) {
    if (nodes.size() < 2) return;
    RunNode meeting = nodes_[static_cast<std::size_t>(nodes.front())];
    meeting.op = RunOp::Meeting;
    const NodeId id = add(meeting, TimeNs{0});
    for (const NodeId node : nodes)
        meeting_[static_cast<std::size_t>(node)] = id;
}

Result<TimedGraph> RunGraphBuilder::finish(const std::string& where, StepEnd end) && {
    const std::size_t count = nodes_.size();
    // A node's meeting waits for the node's dependencies, and the node waits for the meeting, so that the node ends its
    // own duration after the last one has started.
    for (TaskEdge& edge : edges_) {
        const NodeId meeting = meeting_[static_cast<std::size_t>(edge.to)];
        if (meeting != kNoNode) edge.to = meeting;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (meeting_[i] != kNoNode) edges_.push_back({meeting_[i], static_cast<NodeId>(i)});
    }

    const std::vector<TaskIndex> order = topologicalOrder(successorLists(count, edges_), edges_);
    std::vector<NodeId> position(count, kNoNode);
    TimedGraph out;
    out.graph.nodes_.reserve(count);
    out.durations.reserve(count);
    if (!parts_.empty()) {
        parts_.resize(count);
        out.parts.reserve(count);
    }
    for (const TaskIndex task : order) {
        const auto node = static_cast<std::size_t>(task);
        position[node] = out.graph.size();
        out.graph.nodes_.push_back(nodes_[node]);
        out.durations.push_back(durations_[node]);
        if (!parts_.empty()) out.parts.push_back(parts_[node]);
    }
    if (out.graph.nodes_.size() != count) {
        const auto stuck = std::ranges::find(position, kNoNode) - position.begin();
        const RunNode& node = nodes_[static_cast<std::size_t>(stuck)];
        return inputError(where, fmt::format("ops wait for each other in a cycle, including a {} of rank {}",
                                             runOpInfo(node.op).name, node.rank.value));
    }

    for (TaskEdge& edge : edges_)
        edge = {position[static_cast<std::size_t>(edge.from)], position[static_cast<std::size_t>(edge.to)]};
    out.graph.tasks_ = TaskGraph(predecessorLists(count, edges_));
    out.graph.successors_ = successorLists(count, edges_);
    const auto goesOn = [&](NodeId next) {
        return end == StepEnd::Everything || !isOuterNode(out.graph.node(next).op);
    };
    for (NodeId id = 0; id < out.graph.size(); ++id) {
        const auto next = out.graph.successors_[static_cast<std::size_t>(id)];
        if (goesOn(id) && std::ranges::none_of(next, goesOn)) out.graph.last_.push_back(id);
        out.graph.steps_ = std::max(out.graph.steps_, static_cast<std::size_t>(out.graph.node(id).step) + 1);
    }
    return out;
}

RunSimulation::RunSimulation(const RunGraph& graph, std::vector<TimeNs> durations)
    : IncrementalEnds(graph.tasks(), graph.successors(), std::move(durations)), graph_(graph) {}

std::vector<TimeNs> RunSimulation::stepTimes() const {
    std::vector<TimeNs> times(graph_.stepCount());
    for (const NodeId id : graph_.last()) {
        TimeNs& time = times[static_cast<std::size_t>(graph_.node(id).step)];
        time = std::max(time, end(id));
    }
    return times;
}

TimeNs RunSimulation::meanStep() const {
    const std::vector<TimeNs> times = stepTimes();
    TimeNs sum{0};
    for (const TimeNs time : times)
        sum += time;
    return times.empty() ? sum : sum / static_cast<std::int64_t>(times.size());
}

} // namespace bubblescope
