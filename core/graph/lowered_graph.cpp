#include "core/graph/lowered_graph.h"

#include "core/schedule/order_parts.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

namespace bubblescope {
namespace {

Stage stageAtOtherEnd(const Action& action) {
    const bool up = (payloadOf(action.kind) == Payload::Activation) == isSend(action.kind);
    return Stage{action.stage.value + (up ? 1 : -1)};
}

} // namespace

LoweredGraph::LoweredGraph(const LoweredSchedule& lowered, const QueueModel& queues, Eager eager)
    : lowered_(&lowered), eager_(eager) {
    for (std::size_t r = 0; r < lowered.actions.size(); ++r) {
        rank_begin_.push_back(static_cast<ActionIndex>(rank_of_.size()));
        rank_of_.insert(rank_of_.end(), lowered.actions[r].size(), Rank{r});
    }
    rank_begin_.push_back(static_cast<ActionIndex>(rank_of_.size()));
    const TransferEnds ends(lowered);
    pairEnds(ends);
    queueCalls(queues);
    linkInputs(ends, queues.receive_blocks_compute);
}

const Action& LoweredGraph::action(ActionIndex index) const {
    const Rank rank = rank_of_[at(index)];
    return lowered_->actions[rank.index()][at(index - firstOf(rank))];
}

bool LoweredGraph::isEager(ActionIndex index) const {
    const Action& end = action(index);
    return isSend(end.kind) && (payloadOf(end.kind) == Payload::Activation ? eager_.activations : eager_.gradients);
}

void LoweredGraph::pairEnds(const TransferEnds& ends) {
    other_.assign(rank_of_.size(), kNoAction);
    for (ActionIndex index = 0; index < actionCount(); ++index) {
        const Action& end = action(index);
        if (!isSend(end.kind) || !ends.inRange(consumerOf(end), end.microbatch)) continue;
        const Payload payload = payloadOf(end.kind);
        const ActionIndex send = indexOf(ends.send(payload, consumerOf(end), end.microbatch));
        const ActionIndex receive = indexOf(ends.receive(payload, consumerOf(end), end.microbatch));
        if (send != index || receive == kNoAction || rank(send) == rank(receive)) continue;
        other_[at(send)] = receive;
        other_[at(receive)] = send;
    }
}

void LoweredGraph::queueCalls(const QueueModel& queues) {
    const Schedule& order = lowered_->order;
    communicator_.assign(rank_of_.size(), -1);
    call_of_.assign(rank_of_.size(), -1);
    for (int r = 0; r < order.pp; ++r) {
        std::unordered_map<std::int64_t, std::int32_t> last; // latest call per communicator
        ActionIndex group = firstOf(Rank{r});                // its first action
        for (ActionIndex index = group; index < endOf(Rank{r}); ++index) {
            const Action& end = action(index);
            if (!isTransfer(end.kind)) {
                group = index + 1;
                continue;
            }
            const Rank peer = locate(order.placement, order.pp, Stage{std::max(stageAtOtherEnd(end).value, 0)}).rank;
            const Rank from = isSend(end.kind) ? Rank{r} : peer;
            const Rank to = isSend(end.kind) ? peer : Rank{r};
            const std::int64_t number = queues.communicators.of(payloadOf(end.kind), from, to, order.pp);
            communicator_[at(index)] = number;
            const auto before = last.find(number);
            const bool joins = number >= 0 && before != last.end() && calls_[at(before->second)].ends.back() >= group;
            if (!joins) {
                calls_.push_back({index, number >= 0 && before != last.end() ? before->second : -1, {}});
                last[number] = static_cast<std::int32_t>(calls_.size()) - 1;
            }
            call_of_[at(index)] = last[number];
            calls_[at(last[number])].ends.push_back(index);
            if (end.grouped) continue;
            for (ActionIndex member = group; member <= index; ++member)
                calls_[at(call_of_[at(member)])].posted = index;
            group = index + 1;
        }
    }
}

void LoweredGraph::linkInputs(const TransferEnds& ends, bool receive_blocks_compute) {
    std::vector<TaskEdge> inputs;
    std::vector<TaskEdge> sides;
    side_before_.assign(rank_of_.size(), kNoAction);
    offload_of_.assign(rank_of_.size(), kNoAction);
    for (int r = 0; r < lowered_->order.pp; ++r) {
        std::vector<ActionIndex> received; // since the last op
        std::unordered_map<std::int32_t, ActionIndex> gathered;
        std::unordered_map<std::int32_t, ActionIndex> reduced;
        using Piece = std::pair<std::int32_t, std::int32_t>; // stage and micro-batch
        std::map<Piece, ActionIndex> offloads;
        std::map<Piece, ActionIndex> reloads;
        std::array<ActionIndex, kSideStreams> last; // on each stream
        last.fill(kNoAction);
        for (ActionIndex index = firstOf(Rank{r}); index < endOf(Rank{r}); ++index) {
            const Action& here = action(index);
            const auto waitFor = [&](const TransferEnds::Place& place) {
                if (place.found() && place.rank == Rank{r} && indexOf(place) < index)
                    inputs.push_back({indexOf(place), index});
            };
            const auto waitForSide = [&](const auto& of, const auto& key) {
                if (const auto found = of.find(key); found != of.end()) sides.push_back({found->second, index});
            };
            const Piece piece{here.stage.value, here.microbatch.value};
            if (isReceive(here.kind)) received.push_back(index);
            if (here.kind == ActionKind::Unshard) gathered[here.stage.value] = index;
            if (here.kind == ActionKind::ReduceGrad) reduced[here.stage.value] = index;
            if (here.kind == ActionKind::Offload) offloads[piece] = index;
            if (const auto from = offloads.find(piece); here.kind == ActionKind::Reload && from != offloads.end()) {
                offload_of_[at(index)] = from->second;
                reloads[piece] = index;
            }
            if (const auto stream = sideStream(here, offload_of_[at(index)]))
                side_before_[at(index)] = std::exchange(last[*stream], index);
            if (here.kind == ActionKind::WaitReduceGrad) waitForSide(reduced, here.stage.value);
            if (here.kind == ActionKind::WaitOffload) waitForSide(offloads, piece);
            if (here.kind == ActionKind::Recompute) waitForSide(gathered, here.stage.value);
            if (isTransferWait(here.kind) && ends.inRange(consumerOf(here), here.microbatch)) {
                const Payload payload = payloadOf(here.kind);
                waitFor(isSendWait(here.kind) ? ends.send(payload, consumerOf(here), here.microbatch)
                                              : ends.receive(payload, consumerOf(here), here.microbatch));
            }
            if (here.kind != ActionKind::Compute) continue;
            for (const Op& op : opsOf(lowered_->order, Rank{r}, here)) {
                if (op.kind == OpKind::Optimizer) continue;
                const Stage stage = lowered_->order.stageOf(Rank{r}, op.chunk);
                waitForSide(gathered, stage.value);
                if (producesInputGradient(op.kind)) waitForSide(reloads, Piece{stage.value, op.microbatch.value});
                const bool takes_input = op.kind == OpKind::Forward || producesInputGradient(op.kind);
                if (takes_input && !receive_blocks_compute && ends.inRange(stage, op.microbatch))
                    waitFor(ends.receive(bubblescope::payloadOf(op.kind), stage, op.microbatch));
            }
            for (const ActionIndex receive : received) {
                if (receive_blocks_compute) inputs.push_back({receive, index});
            }
            received.clear();
        }
    }
    inputs_ = predecessorLists(rank_of_.size(), inputs);
    side_inputs_ = predecessorLists(rank_of_.size(), sides);
}

std::optional<std::size_t> LoweredGraph::sideStream(const Action& action, ActionIndex offload) const {
    enum : std::size_t { kWeights, kToHost, kFromHost, kPeers };
    switch (action.kind) {
    case ActionKind::Unshard:
    case ActionKind::ReduceGrad: return kWeights;
    case ActionKind::Offload: return action.peer < 0 ? kToHost : kPeers;
    case ActionKind::Reload: return offload == kNoAction || this->action(offload).peer < 0 ? kFromHost : kPeers;
    default: return std::nullopt;
    }
}

std::vector<TaskEdge> LoweredGraph::edges() const {
    std::vector<TaskEdge> edges;
    edges.reserve(4 * rank_of_.size());
    for (ActionIndex index = 0; index < actionCount(); ++index) {
        if (index > firstOf(rank(index))) edges.push_back({passed(index - 1), passed(index)});
        for (const ActionIndex input : inputs(index))
            edges.push_back({ended(input), passed(index)});
        for (const ActionIndex input : sideInputs(index))
            edges.push_back({ended(input), passed(index)});
        if (callOf(index) < 0) {
            edges.push_back({passed(index), ended(index)});
            if (sideBefore(index) != kNoAction) edges.push_back({ended(sideBefore(index)), ended(index)});
            if (offloadOf(index) != kNoAction) edges.push_back({ended(offloadOf(index)), ended(index)});
            continue;
        }
        edges.push_back({atHead(callOf(index)), ended(index)});
        const ActionIndex other = otherEnd(index);
        if (other != kNoAction && !isEager(index)) edges.push_back({atHead(callOf(other)), ended(index)});
    }
    for (std::size_t number = 0; number < calls_.size(); ++number) {
        const auto call = static_cast<std::int32_t>(number);
        edges.push_back({passed(calls_[number].posted), atHead(call)});
        if (calls_[number].before < 0) continue;
        for (const ActionIndex end : this->call(calls_[number].before).ends)
            edges.push_back({ended(end), atHead(call)});
    }
    return edges;
}

} // namespace bubblescope
