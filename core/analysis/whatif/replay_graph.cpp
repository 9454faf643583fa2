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
    for (Edge& edge : edges_) {
        const NodeId meeting = meeting_[static_cast<std::size_t>(edge.to)];
        if (meeting != kNoNode) edge.to = meeting;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (meeting_[i] != kNoNode) edges_.push_back({meeting_[i], static_cast<NodeId>(i)});
    }

    const auto lists = [count](const std::vector<Edge>& edges, NodeId Edge::*key, NodeId Edge::*value) {
        ReplayGraph::Lists out;
        out.begin.assign(count + 1, 0);
        for (const Edge& edge : edges)
            ++out.begin[static_cast<std::size_t>(edge.*key) + 1];
        for (std::size_t i = 0; i < count; ++i)
            out.begin[i + 1] += out.begin[i];
        out.entries.resize(edges.size());
        std::vector<NodeId> next(out.begin.begin(), out.begin.end() - 1);
        for (const Edge& edge : edges)
            out.entries[static_cast<std::size_t>(next[static_cast<std::size_t>(edge.*key)]++)] = edge.*value;
        return out;
    };

    // Depth first: what follows on a rank's stream comes soon after, which keeps replays within the cache.
    const ReplayGraph::Lists followers = lists(edges_, &Edge::from, &Edge::to);
    std::vector<NodeId> missing(count, 0);
    for (const Edge& edge : edges_)
        ++missing[static_cast<std::size_t>(edge.to)];
    std::vector<NodeId> ready;
    for (std::size_t i = count; i-- > 0;) {
        if (missing[i] == 0) ready.push_back(static_cast<NodeId>(i));
    }
    std::vector<NodeId> position(count, kNoNode);
    TimedGraph out;
    out.graph.nodes_.reserve(count);
    out.durations.reserve(count);
    while (!ready.empty()) {
        const auto node = static_cast<std::size_t>(ready.back());
        ready.pop_back();
        position[node] = out.graph.size();
        out.graph.nodes_.push_back(nodes_[node]);
        out.durations.push_back(durations_[node]);
        for (const NodeId follower : ReplayGraph::slice(followers, static_cast<NodeId>(node))) {
            if (--missing[static_cast<std::size_t>(follower)] == 0) ready.push_back(follower);
        }
    }
    if (out.graph.nodes_.size() != count) {
        const auto stuck = std::ranges::find(position, kNoNode) - position.begin();
        const ReplayNode& node = nodes_[static_cast<std::size_t>(stuck)];
        return inputError(where, fmt::format("ops wait for each other in a circle, among them a {} of rank {}",
                                             replayOpInfo(node.op).name, node.rank.value));
    }

    for (Edge& edge : edges_)
        edge = {position[static_cast<std::size_t>(edge.from)], position[static_cast<std::size_t>(edge.to)]};
    ReplayGraph::Lists needs = lists(edges_, &Edge::to, &Edge::from);
    out.graph.order_ = DependencyGraph(std::move(needs.begin), std::move(needs.entries));
    out.graph.dependents_ = lists(edges_, &Edge::from, &Edge::to);
    for (NodeId id = 0; id < out.graph.size(); ++id) {
        if (out.graph.dependents(id).empty()) out.graph.last_.push_back(id);
        out.graph.steps_ = std::max(out.graph.steps_, static_cast<std::size_t>(out.graph.node(id).step) + 1);
    }
    return out;
}

} // namespace bubblescope
