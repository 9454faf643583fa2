#include "core/analysis/whatif/replay_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope {

NodeId ReplayGraphBuilder::add(const ReplayNode& node, TimeNs duration) {
    nodes_.push_back(node);
    durations_.push_back(std::max(duration, TimeNs{0}));
    meeting_.push_back(kNoNode);
    return size() - 1;
}

void ReplayGraphBuilder::setDuration(NodeId node, TimeNs duration) {
    durations_[static_cast<std::size_t>(node)] = std::max(duration, TimeNs{0});
}

void ReplayGraphBuilder::after(NodeId node, NodeId dependency) {
    if (node == kNoNode || dependency == kNoNode) return;
    edges_.push_back({dependency, node});
}

void ReplayGraphBuilder::meet(std::span<const NodeId> nodes) {
    if (nodes.size() < 2) return;
    ReplayNode meeting = nodes_[static_cast<std::size_t>(nodes.front())];
    meeting.op = ReplayOp::Meeting;
    const NodeId id = add(meeting, TimeNs{0});
    for (const NodeId node : nodes)
        meeting_[static_cast<std::size_t>(node)] = id;
}

Result<TimedGraph> ReplayGraphBuilder::finish(const std::string& where) && {
    const std::size_t count = nodes_.size();
    // What a node waits for is waited for by its meeting, and the node waits for that: it ends its own time after
    // the last of all started.
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
    for (const TaskIndex task : order) {
        const auto node = static_cast<std::size_t>(task);
        position[node] = out.graph.size();
        out.graph.nodes_.push_back(nodes_[node]);
        out.durations.push_back(durations_[node]);
    }
    if (out.graph.nodes_.size() != count) {
        const auto stuck = std::ranges::find(position, kNoNode) - position.begin();
        const ReplayNode& node = nodes_[static_cast<std::size_t>(stuck)];
        return inputError(where, fmt::format("ops wait for each other in a circle, among them a {} of rank {}",
                                             replayOpInfo(node.op).name, node.rank.value));
    }

    for (TaskEdge& edge : edges_)
        edge = {position[static_cast<std::size_t>(edge.from)], position[static_cast<std::size_t>(edge.to)]};
    out.graph.tasks_ = TaskGraph(predecessorLists(count, edges_));
    out.graph.successors_ = successorLists(count, edges_);
    for (NodeId id = 0; id < out.graph.size(); ++id) {
        if (out.graph.successors_[static_cast<std::size_t>(id)].empty()) out.graph.last_.push_back(id);
        out.graph.steps_ = std::max(out.graph.steps_, static_cast<std::size_t>(out.graph.node(id).step) + 1);
    }
    return out;
}

Replay::Replay(const ReplayGraph& graph, std::vector<TimeNs> durations)
    : IncrementalEnds(graph.tasks(), graph.successors(), std::move(durations)), graph_(graph) {}

std::vector<TimeNs> Replay::stepTimes() const {
    std::vector<TimeNs> times(graph_.stepCount());
    for (const NodeId id : graph_.last()) {
        TimeNs& time = times[static_cast<std::size_t>(graph_.node(id).step)];
        time = std::max(time, end(id));
    }
    return times;
}

TimeNs Replay::meanStep() const {
    const std::vector<TimeNs> times = stepTimes();
    TimeNs sum{0};
    for (const TimeNs time : times)
        sum += time;
    return times.empty() ? sum : sum / static_cast<std::int64_t>(times.size());
}

} // namespace bubblescope
