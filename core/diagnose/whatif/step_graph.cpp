#include "core/diagnose/whatif/step_graph.h"

#include "core/base/median.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

ReplayNode nodeOf(const ReplayNode& place, const OpGraph& ops, OpIndex index, ReplayOp op) {
    ReplayNode node = place;
    node.op = op;
    node.rank = ops.rank(index);
    node.chunk = ops.op(index).chunk;
    node.microbatch = ops.op(index).microbatch;
    node.sequence = ops.op(index).sequence;
    return node;
}

} // namespace

std::vector<RankPipeline> addPipeline(ReplayGraphBuilder& builder, const ReplayNode& place, int vpp, const OpGraph& ops,
                                      const PipelineTimes& times) {
    const auto chunks = static_cast<std::size_t>(vpp);
    const auto at = [](OpIndex index) { return static_cast<std::size_t>(index); };
    std::vector<RankPipeline> pipelines(
        static_cast<std::size_t>(ops.rankCount()),
        {kNoNode, std::vector<NodeId>(chunks, kNoNode), std::vector<NodeId>(chunks, kNoNode)});
    std::vector<NodeId> nodes(at(ops.size()), kNoNode);
    for (OpIndex index = 0; index < ops.size(); ++index) {
        const Op& op = ops.op(index);
        RankPipeline& pipeline = pipelines[ops.rank(index).index()];
        if (op.kind == OpKind::Optimizer) continue;
        const OpIndex partner = ops.partner(index);
        if (partner != kNoOp && partner < index) {
            nodes[at(index)] = nodes[at(partner)];
        } else {
            const ReplayOp kind = partner == kNoOp ? replayOp(op.kind) : ReplayOp::Pair;
            nodes[at(index)] = builder.add(nodeOf(place, ops, index, kind), times.op(index, partner));
            builder.after(nodes[at(index)], pipeline.last);
            pipeline.last = nodes[at(index)];
        }
        if (!ops.inRange(op)) continue;
        NodeId& first = pipeline.first_forward[op.chunk.index()];
        if (op.kind == OpKind::Forward && first == kNoNode) first = nodes[at(index)];
        if (op.kind != OpKind::Forward) pipeline.last_backward[op.chunk.index()] = nodes[at(index)];
    }
    for (OpIndex index = 0; index < ops.size(); ++index) {
        if (!ops.receives(index)) continue;
        const OpIndex producer = ops.producers(index).stage;
        const bool forward = payloadOf(ops.op(index).kind) == Payload::Activation;
        ReplayNode node = nodeOf(place, ops, index, forward ? ReplayOp::ForwardTransfer : ReplayOp::BackwardTransfer);
        node.peer = node.rank;
        node.rank = ops.rank(producer);
        const NodeId transfer = builder.add(node, times.transfer(index));
        builder.after(transfer, nodes[at(producer)]);
        builder.after(nodes[at(index)], transfer);
    }
    return pipelines;
}

namespace {

/// One step of one replica, with the times of its transfers.
class Measured {
public:
    explicit Measured(const StepTimeline& step) : step_(step), ops_(executedOrder(step)) {
        for (const auto& rank : step.ranks) {
            for (const TimelineOp& op : rank) {
                if (op.op.kind != OpKind::Optimizer) timed_.push_back(&op);
            }
        }
        readSpans();
        inferTransfers();
    }

    void addTo(ReplayGraphBuilder& builder, Surroundings& surroundings, const ReplayNode& place) const {
        const PipelineTimes times{[this](OpIndex op, OpIndex partner) {
                                      const TimeNs own = timed(op).duration();
                                      return partner == kNoOp ? own : std::max(own, timed(partner).duration());
                                  },
                                  [this](OpIndex consumer) { return transfers_[static_cast<std::size_t>(consumer)]; }};
        const auto pipelines = addPipeline(builder, place, step_.vpp, ops_, times);
        for (std::size_t r = 0; r < step_.ranks.size(); ++r) {
            ReplayNode node = place;
            node.op = ReplayOp::Optimizer;
            node.rank = Rank{r};
            std::vector<Surrounding> around;
            for (const TimelineOp& op : step_.ranks[r]) {
                if (op.op.kind == OpKind::Optimizer)
                    around.push_back({node.op, node.chunk, builder.add(node, op.duration())});
            }
            surroundings.add(node, pipelines[r], around);
        }
    }

private:
    using SpanKey = std::tuple<std::int32_t, Payload, std::int32_t, std::int32_t>;
    struct Sides {
        TimeNs begin{0};
        std::optional<TimeNs> end; ///< of the receive
    };

    [[nodiscard]] const TimelineOp& timed(OpIndex op) const { return *timed_[static_cast<std::size_t>(op)]; }

    void readSpans() {
        for (const auto& spans : step_.comm) {
            for (const CommSpan& span : spans) {
                if (span.kind == CommKind::Wait) continue;
                Sides& sides = sides_[{span.stage.value, span.payload, span.microbatch.value, span.sequence}];
                sides.begin = std::max(sides.begin, span.start);
                if (span.kind == CommKind::Receive) sides.end = span.end;
            }
        }
    }

    [[nodiscard]] std::optional<TimeNs> recorded(OpIndex consumer) const {
        const Op& op = ops_.op(consumer);
        const auto sides =
            sides_.find({ops_.stage(consumer).value, payloadOf(op.kind), op.microbatch.value, op.sequence});
        if (sides == sides_.end() || !sides->second.end) return std::nullopt;
        const TimeNs sent = timed(ops_.producers(consumer).stage).end;
        return std::max(*sides->second.end - std::max(sides->second.begin, sent), TimeNs{0});
    }

    void inferTransfers() {
        transfers_.assign(timed_.size(), TimeNs{0});
        using Link = std::tuple<std::int32_t, std::int32_t, Payload>;
        std::map<Link, std::vector<TimeNs>> waited;
        std::vector<OpIndex> unknown;
        const auto linkOf = [this](OpIndex op) {
            return Link{ops_.rank(ops_.producers(op).stage).value, ops_.rank(op).value, payloadOf(ops_.op(op).kind)};
        };
        for (OpIndex op = 0; op < ops_.size(); ++op) {
            if (!ops_.receives(op)) continue;
            TimeNs& time = transfers_[static_cast<std::size_t>(op)];
            if (const auto known = recorded(op)) {
                time = *known;
                continue;
            }
            const TimeNs sent = timed(ops_.producers(op).stage).end;
            const OpIndex previous = ops_.previous(op);
            if (previous == kNoOp || timed(previous).end <= sent) {
                time = std::max(timed(op).start - sent, TimeNs{0});
                waited[linkOf(op)].push_back(time);
            } else {
                unknown.push_back(op);
            }
        }
        std::map<Link, TimeNs> usual;
        for (auto& [link, times] : waited)
            usual[link] = median(std::move(times));
        for (const OpIndex op : unknown) {
            const auto link = usual.find(linkOf(op));
            const TimeNs room = std::max(timed(op).start - timed(ops_.producers(op).stage).end, TimeNs{0});
            transfers_[static_cast<std::size_t>(op)] = link == usual.end() ? TimeNs{0} : std::min(link->second, room);
        }
    }

    const StepTimeline& step_;
    OpGraph ops_;
    std::vector<const TimelineOp*> timed_; ///< per op of the graph
    std::map<SpanKey, Sides> sides_;
    std::vector<TimeNs> transfers_; ///< per op that one feeds
};

} // namespace

Result<ReplayModel> stepGraph(std::span<const StepTimeline* const> steps, ReplayModel model) {
    std::set<int> replicas;
    std::map<int, std::vector<const StepTimeline*>> by_index;
    for (const StepTimeline* step : steps) {
        replicas.insert(step->replica);
        by_index[step->index].push_back(step);
    }
    model.replicas.assign(replicas.begin(), replicas.end());
    ReplayGraphBuilder builder;
    Surroundings surroundings(builder);
    for (const auto& [index, together] : by_index) {
        ReplayNode place;
        place.step = static_cast<std::int32_t>(model.steps.size());
        TimeNs begin = TimeNs::max();
        TimeNs end = TimeNs::min();
        for (const StepTimeline* step : together) {
            place.replica =
                static_cast<std::int32_t>(std::ranges::find(model.replicas, step->replica) - model.replicas.begin());
            Measured(*step).addTo(builder, surroundings, place);
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
