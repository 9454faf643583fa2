#include "core/analysis/whatif/timeline_graph.h"

#include "core/analysis/accounting/accounting.h"
#include "core/analysis/accounting/step_parts.h"
#include "core/analysis/whatif/replay_check.h"

#include <algorithm>
#include <deque>
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
    std::vector<NodeId> starts(nodes); // what waits for an op's inputs: the op itself, or the first delay before it
    std::vector<OpDelay> delays;
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
            NodeId before = pipeline.last;
            delays.clear();
            times.delays(index, delays);
            for (const OpDelay& delay : delays) {
                if (delay.time <= TimeNs{0}) continue;
                RunNode node = nodeOf(place, ops, index, delay.kind);
                node.peer = delay.from;
                const NodeId id = builder.add(node, delay.time);
                builder.after(id, before);
                if (start == kNoNode) start = id;
                before = id;
            }
            const RunNode node = nodeOf(place, ops, index, kind);
            const TimeNs time = times.op(index, partner);
            nodes[at(index)] = times.parts ? builder.add(node, time, times.parts(index)) : builder.add(node, time);
            builder.after(nodes[at(index)], before);
            if (start == kNoNode) start = nodes[at(index)];
            pipeline.last = nodes[at(index)];
        }
        if (!ops.inRange(op)) continue;
        NodeId& first = pipeline.first_forward[op.chunk.index()];
        if (op.kind == OpKind::Forward && first == kNoNode) first = nodes[at(index)];
        if (op.kind != OpKind::Forward) pipeline.last_backward[op.chunk.index()] = nodes[at(index)];
    }
    std::vector<NodeId> transfers(times.holds ? nodes.size() : 0, kNoNode);
    const auto addTransfer = [&](OpIndex index, OpIndex producer) {
        const std::optional<TimeNs> time = times.transfer(index, producer);
        if (!time) return kNoNode;
        const bool forward = payloadOf(ops.op(index).kind) == Payload::Activation;
        RunNode node = nodeOf(place, ops, index, forward ? RunOp::ForwardTransfer : RunOp::BackwardTransfer);
        node.peer = node.rank;
        node.rank = ops.rank(producer);
        const NodeId transfer = builder.add(node, *time);
        builder.after(transfer, nodes[at(producer)]);
        builder.after(starts[at(index)], transfer);
        return transfer;
    };
    for (OpIndex index = 0; index < ops.size(); ++index) {
        if (!ops.receives(index)) continue;
        const NodeId transfer = addTransfer(index, ops.producers(index).stage);
        if (times.holds) transfers[at(index)] = transfer;
        if (const OpIndex joined = ops.joinedInput(index); joined >= 0) addTransfer(index, joined);
    }
    for (OpIndex index = 0; index < static_cast<OpIndex>(transfers.size()); ++index) {
        const OpHold hold = times.holds(index);
        if (hold.sends_to != kNoOp) builder.after(starts[at(index)], transfers[at(hold.sends_to)]);
        if (hold.receives) builder.after(transfers[at(index)], nodes[at(index - 1)]);
    }
    return pipelines;
}

namespace {

/// One step of one replica.
class StepOnGraph {
public:
    StepOnGraph(const KnownStep& known, const StepReading& reading)
        : step_(*known.step), observed_(step_, known.known), usual_(reading.usual, step_, observed_.graph),
          parts_(observed_, usual_), holds_(reading.holds) {
        if (reading.as_planned && PlannedReplay(step_, observed_.graph, &reading.plan).replay) {
            Schedule plan = reading.plan;
            for (auto& list : plan.ranks)
                std::erase_if(list, [](const Op& op) { return op.kind == OpKind::Optimizer; });
            planned_.emplace(plan);
        }
    }

    StepOnGraph(const StepOnGraph&) = delete;
    StepOnGraph& operator=(const StepOnGraph&) = delete;

    [[nodiscard]] CheckedStep checked() const { return {&step_, &observed_}; }

    void add(RunGraphBuilder& builder, StepCollectives& collectives, const RunNode& place) const {
        const PipelineTimes times{
            [this](OpIndex op, OpIndex) { return observed_.graph.duration(unitOf(op)); },
            [this](OpIndex op) { return parts_.ofOp(StepGraph::at(unitOf(op))); },
            [this](OpIndex consumer, OpIndex producer) { return transferTo(consumer, producer); },
            [this](OpIndex op, std::vector<OpDelay>& out) { addDelays(StepGraph::at(unitOf(op)), out); },
            withHolds() ? std::function<OpHold(OpIndex)>([this](OpIndex op) { return holdBefore(op); }) : nullptr};
        const auto pipelines = addPipeline(builder, place, step_.vpp, ops(), times);
        for (std::size_t r = 0; r < step_.ranks.size(); ++r) {
            RunNode node = place;
            node.op = RunOp::Optimizer;
            node.rank = Rank{r};
            std::vector<OuterNode> around;
            for (const TimelineOp& op : step_.ranks[r]) {
                if (op.op.kind == OpKind::Optimizer)
                    around.push_back({node.op, node.chunk, builder.add(node, op.duration())});
            }
            collectives.add(node, pipelines[r], around);
        }
    }

private:
    [[nodiscard]] const OpGraph& ops() const { return planned_ ? *planned_ : observed_.graph.ops(); }
    [[nodiscard]] UnitIndex unitOf(OpIndex index) const {
        const OpGraph& ran = observed_.graph.ops();
        if (!planned_) return observed_.graph.unitOf(index);
        const Op& op = planned_->op(index);
        return observed_.graph.unitOf(ran.find(op.kind, op.microbatch, planned_->stage(index), op.sequence));
    }
    [[nodiscard]] std::optional<TimeNs> transferTo(OpIndex consumer, OpIndex producer) const {
        const StepGraph& graph = observed_.graph;
        const std::size_t unit = StepGraph::at(unitOf(consumer));
        const bool second =
            graph.pair[unit] ? ops().partner(consumer) < consumer : producer == ops().joinedInput(consumer);
        const std::size_t side = second ? 1 : 0;
        if (graph.input(side, unit) == kNoUnit) return std::nullopt;
        return graph.transfer[side][unit];
    }
    [[nodiscard]] OpHold holdBefore(OpIndex op) const {
        const StepGraph& graph = observed_.graph;
        const Hold& hold = graph.holds[StepGraph::at(unitOf(op))];
        return {hold.sends_to == kNoUnit ? kNoOp : ops().consumer(op - 1), hold.receives};
    }
    void addDelays(std::size_t unit, std::vector<OpDelay>& out) const {
        const StepGraph& graph = observed_.graph;
        Rank from{-1};
        if (observed_.latest[unit].crosses) {
            // A delay after the rank's own send does not belong to a link that brings an input.
            const TransferPlace by = graph.latestTransfer(unit);
            if (by.unit == unit) from = Rank{graph.rank[StepGraph::at(graph.input(by.side, unit))]};
        }
        const DelayParts& delays = observed_.delays;
        TimeNs known = sendDelay(unit);
        const auto put = [&](RunOp kind, const std::vector<TimeNs>& times) {
            if (times.empty()) return;
            const TimeNs part = std::min(known, times[unit]);
            known -= part;
            out.push_back({kind, times[unit] - part, from});
        };
        put(RunOp::Blocked, delays.peer);
        put(RunOp::TransferDelay, delays.communication);
        put(RunOp::ReplayedWork, delays.replay);
        put(RunOp::LateStart, delays.late);
    }
    /// The part of a unit's delay that the graph reproduces by itself, because a send waits for its receiver.
    [[nodiscard]] TimeNs sendDelay(std::size_t unit) const {
        const StepGraph& graph = observed_.graph;
        if (!withHolds() || graph.holds[unit].sends_to == kNoUnit) return TimeNs{0};
        const std::size_t fed = StepGraph::at(graph.holds[unit].sends_to);
        if (!graph.holds[fed].receives) return TimeNs{0};
        const TimeNs posted = graph.end[StepGraph::at(graph.previous(fed))];
        const TimeNs arrival = graph.start[unit] - graph.delay[unit];
        return std::max(TimeNs{0}, posted + graph.transfer[0][fed] - arrival);
    }
    [[nodiscard]] bool withHolds() const { return holds_ && !planned_ && !observed_.graph.holds.empty(); }

    const StepTimeline& step_;
    ObservedStep observed_;
    UnitTimes usual_;
    StepParts parts_;
    bool holds_;
    std::optional<OpGraph> planned_; ///< the ops in the plan's order
};

} // namespace

Result<RunModel> timelineGraph(std::span<const KnownStep> steps, const StepReading& reading, RunModel model) {
    std::set<int> replicas;
    std::map<int, std::vector<const KnownStep*>> by_index;
    for (const KnownStep& known : steps) {
        replicas.insert(known.step->replica);
        by_index[known.step->index].push_back(&known);
    }
    model.replicas.assign(replicas.begin(), replicas.end());
    RunGraphBuilder builder;
    StepCollectives collectives(builder);
    std::deque<StepOnGraph> kept; // the last one is kept only while it is added
    std::vector<CheckedStep> checked;
    std::size_t passed = 0;
    for (const auto& [index, together] : by_index) {
        RunNode place;
        place.step = static_cast<std::int32_t>(model.steps.size());
        TimeNs longest{0};
        for (const KnownStep* known : together) {
            place.replica = static_cast<std::int32_t>(std::ranges::find(model.replicas, known->step->replica) -
                                                      model.replicas.begin());
            kept.emplace_back(*known, reading).add(builder, collectives, place);
            model.gaps.add(kept.back().checked().observed->graph, known->known);
            const std::size_t apart = (steps.size() + kMostChecked - 1) / kMostChecked;
            if (!reading.as_planned && passed++ % apart == 0) {
                checked.push_back(kept.back().checked());
            } else {
                kept.pop_back();
            }
            longest = std::max(longest, known->step->wall());
        }
        model.steps.push_back({index, longest});
    }
    for (const auto& nodes : collectives.groups())
        builder.meet(nodes);
    model.check = checkReplay(checked);
    Result<TimedGraph> timed = std::move(builder).finish(model.where, StepEnd::Pipeline);
    if (!timed.ok() && reading.holds) {
        // Contradictory records of sends must not make the model fail.
        model.steps.clear();
        model.gaps = {};
        StepReading without = reading;
        without.holds = false;
        return timelineGraph(steps, without, std::move(model));
    }
    BUBBLESCOPE_ASSIGN(model.timed, std::move(timed));
    return model;
}

} // namespace bubblescope
