#include "core/analysis/whatif/step_collectives.h"

#include <algorithm>
#include <array>

namespace bubblescope {
namespace {

/// The node of a chunk; kNoNode if it has none.
NodeId ofChunk(const std::vector<NodeId>& nodes, Chunk chunk) {
    return chunk.value >= 0 && chunk.index() < nodes.size() ? nodes[chunk.index()] : kNoNode;
}

} // namespace

void StepCollectives::add(const RunNode& place, const RankPipeline& pipeline, std::span<const OuterNode> nodes) {
    const bool overlapped = std::ranges::find(nodes, RunOp::SeparateGradsAllReduce, &OuterNode::op) != nodes.end();

    // The stream of data-parallel communication.
    NodeId on_stream = kNoNode;
    NodeId last_scatter = kNoNode;
    std::vector<bool> scattered(pipeline.last_backward.size());
    std::vector<NodeId> gathered(pipeline.first_forward.size(), kNoNode);
    for (const OuterNode& node : nodes) {
        if (node.op != RunOp::ParamsAllGather && node.op != RunOp::GradsReduceScatter) continue;
        builder_.after(node.node, on_stream);
        on_stream = node.node;
        const bool known = node.chunk.value >= 0 && node.chunk.index() < gathered.size();
        if (node.op == RunOp::ParamsAllGather) {
            if (known) gathered[node.chunk.index()] = node.node;
            continue;
        }
        last_scatter = node.node;
        if (overlapped && known && !scattered[node.chunk.index()]) {
            scattered[node.chunk.index()] = true;
            builder_.after(node.node, ofChunk(pipeline.last_backward, node.chunk));
        }
    }
    for (std::size_t chunk = 0; chunk < gathered.size(); ++chunk)
        builder_.after(pipeline.first_forward[chunk], gathered[chunk]);

    constexpr std::array kOrder{
        RunOp::GarbageCollection,  RunOp::LayernormGradsAllReduce, RunOp::EmbeddingGradsAllReduce,
        RunOp::GradsReduceScatter, RunOp::SeparateGradsAllReduce,  RunOp::ClipMainGrad,
        RunOp::Optimizer};
    NodeId before = pipeline.last;
    bool behind_scatter = !overlapped;
    for (const RunOp op : kOrder) {
        if (overlapped && op == RunOp::GradsReduceScatter) continue;
        for (const OuterNode& node : nodes) {
            if (node.op != op) continue;
            builder_.after(node.node, before);
            if (!behind_scatter && op != RunOp::GarbageCollection) {
                builder_.after(node.node, last_scatter);
                behind_scatter = true;
            }
            before = node.node;
        }
    }

    std::array<std::int32_t, kRunOpCount> count{};
    for (const OuterNode& node : nodes) {
        const std::int32_t number = count[static_cast<std::size_t>(node.op)]++;
        switch (runOpInfo(node.op).meets) {
        case Meets::Replicas: groups_[{place.step, node.op, number, -1, place.rank.value}].push_back(node.node); break;
        case Meets::Ends: groups_[{place.step, node.op, number, place.replica, -1}].push_back(node.node); break;
        case Meets::Everyone: groups_[{place.step, node.op, number, -1, -1}].push_back(node.node); break;
        case Meets::Nobody:
        case Meets::Peer: break;
        }
    }
}

std::vector<std::vector<NodeId>> StepCollectives::groups() const {
    std::vector<std::vector<NodeId>> all;
    all.reserve(groups_.size());
    for (const auto& [key, nodes] : groups_)
        all.push_back(nodes);
    return all;
}

} // namespace bubblescope
