#include "core/analysis/whatif/timeline_graph.h"

#include "core/graph/step_replay.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace bubblescope {
namespace {

RunNode nodeOf(const RunNode& place, const OpGraph& ops, OpIndex index, RunOp op) {
    RunNode node = place;
    node.op = op;
    node.rank = ops.rank(index);
    node.chunk = ops.op(index).chunk;
    node.microbatch = ops.op(index).microbatch;
    node.sequence = ops.op(index).sequence;
    return node;
}

} // namespace

std::vector<RankPipeline> addPipeline(RunGraphBuilder& builder, const RunNode& place, int vpp, const OpGraph& ops,
                                      const PipelineTimes& times) {
    const auto chunks = static_cast<std::size_t>(vpp);
    const auto at = [](OpIndex index) { return static_cast<std::size_t>(index); };
    std::vector<RankPipeline> pipelines(
        static_cast<std::size_t>(ops.rankCount()),
        {kNoNode, std::vector<NodeId>(chunks, kNoNode), std::vector<NodeId>(chunks, kNoNode)});
    std::vector<NodeId> nodes(at(ops.size()), kNoNode);
    std::vector<NodeId> starts(nodes); // where an op is waited for: itself, or its late start
    for (OpIndex index = 0; index < ops.size(); ++index) {
        const Op& op = ops.op(index);
        RankPipeline& pipeline = pipelines[ops.rank(index).index()];
        if (op.kind == OpKind::Optimizer) continue;
        const OpIndex partner = ops.partner(index);
        if (partner != kNoOp && partner < index) {
            nodes[at(index)] = nodes[at(partner)];
            starts[at(index)] = starts[at(partner)];
        } else {
            const RunOp kind = partner == kNoOp ? runOp(op.kind) : RunOp::Pair;
            NodeId& start = starts[at(index)];
            const TimeNs late = times.late(index);
            if (late > TimeNs{0}) {
                start = builder.add(nodeOf(place, ops, index, RunOp::LateStart), late);
                builder.after(start, pipeline.last);
            }
            nodes[at(index)] = builder.add(nodeOf(place, ops, index, kind), times.op(index, partner));
            builder.after(nodes[at(index)], start == kNoNode ? pipeline.last : start);
            if (start == kNoNode) start = nodes[at(index)];
            pipeline.last = nodes[at(index)];
        }
        if (!ops.inRange(op)) continue;
        NodeId& first = pipeline.first_forward[op.chunk.index()];
        if (op.kind == OpKind::Forward && first == kNoNode) first = nodes[at(index)];
        if (op.kind != OpKind::Forward) pipeline.last_backward[op.chunk.index()] = nodes[at(index)];
    }
    for (OpIndex index = 0; index < ops.size(); ++index) {
        if (!ops.receives(index)) continue;
        const std::optional<TimeNs> time = times.transfer(index);
        if (!time) continue;
        const OpIndex producer = ops.producers(index).stage;
        const bool forward = payloadOf(ops.op(index).kind) == Payload::Activation;
        RunNode node = nodeOf(place, ops, index, forward ? RunOp::ForwardTransfer : RunOp::BackwardTransfer);
        node.peer = node.rank;
        node.rank = ops.rank(producer);
        const NodeId transfer = builder.add(node, *time);
        builder.after(transfer, nodes[at(producer)]);
        builder.after(starts[at(index)], transfer);
    }
    return pipelines;
}

namespace {

/// One step of one replica.
void addStep(RunGraphBuilder& builder, Surroundings& surroundings, const RunNode& place, const StepTimeline& step) {
    const ObservedStep observed(step);
    const StepGraph& graph = observed.graph;
    const OpGraph& ops = graph.ops();
    const std::vector<TimeNs> late = observed.delays.total();
    const PipelineTimes times{
        [&](OpIndex op, OpIndex) { return graph.duration(graph.unitOf(op)); },
        [&](OpIndex consumer) -> std::optional<TimeNs> {
            const std::size_t unit = StepGraph::at(graph.unitOf(consumer));
            const bool second = graph.pair[unit] && ops.partner(consumer) < consumer;
            if (graph.input(second ? 1 : 0, unit) == kNoUnit) return std::nullopt;
            return graph.transfer[second ? 1 : 0][unit];
        },
        [&](OpIndex op) { return late.empty() ? TimeNs{0} : late[StepGraph::at(graph.unitOf(op))]; }};
    const auto pipelines = addPipeline(builder, place, step.vpp, ops, times);
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        RunNode node = place;
        node.op = RunOp::Optimizer;
        node.rank = Rank{r};
        std::vector<Surrounding> around;
        for (const TimelineOp& op : step.ranks[r]) {
            if (op.op.kind == OpKind::Optimizer)
                around.push_back({node.op, node.chunk, builder.add(node, op.duration())});
        }
        surroundings.add(node, pipelines[r], around);
    }
}

} // namespace

Result<RunModel> timelineGraph(std::span<const StepTimeline* const> steps, RunModel model) {
    std::set<int> replicas;
    std::map<int, std::vector<const StepTimeline*>> by_index;
    for (const StepTimeline* step : steps) {
        replicas.insert(step->replica);
        by_index[step->index].push_back(step);
    }
    model.replicas.assign(replicas.begin(), replicas.end());
    RunGraphBuilder builder;
    Surroundings surroundings(builder);
    for (const auto& [index, together] : by_index) {
        RunNode place;
        place.step = static_cast<std::int32_t>(model.steps.size());
        TimeNs begin = TimeNs::max();
        TimeNs end = TimeNs::min();
        for (const StepTimeline* step : together) {
            place.replica =
                static_cast<std::int32_t>(std::ranges::find(model.replicas, step->replica) - model.replicas.begin());
            addStep(builder, surroundings, place, *step);
            for (const auto& rank : step->ranks) {
                for (const TimelineOp& op : rank) {
                    begin = std::min(begin, op.start);
                    end = std::max(end, op.end);
                }
            }
        }
        model.steps.push_back({index, end - begin});
    }
    for (const auto& nodes : surroundings.meetings())
        builder.meet(nodes);
    BUBBLESCOPE_ASSIGN(model.timed, std::move(builder).finish(model.where));
    return model;
}

} // namespace bubblescope
