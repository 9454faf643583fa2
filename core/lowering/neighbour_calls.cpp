#include "core/lowering/neighbour_calls.h"

namespace bubblescope {
namespace {

Action actionOf(ActionKind kind, Stage stage, Microbatch microbatch) {
    Action action;
    action.kind = kind;
    action.stage = stage;
    action.microbatch = microbatch;
    return action;
}

} // namespace

NeighbourCalls::NeighbourCalls(const Schedule& order, Rank rank, bool batched)
    : order_(order), rank_(rank), batched_(batched) {}

void NeighbourCalls::compute(std::size_t op) {
    const Op& here = ops()[op];
    Action action = actionOf(ActionKind::Compute, order_.stageOf(rank_, here.chunk), here.microbatch);
    action.op = static_cast<std::int32_t>(op);
    actions_.push_back(action);
}

NeighbourCalls::Posted NeighbourCalls::inOrder(const NeighbourCall& call) const {
    if (batched_) return {call.send_previous, call.receive_previous, call.send_next, call.receive_next};
    if (rank_.value % 2 == 0) return {call.send_next, call.receive_previous, call.send_previous, call.receive_next};
    return {call.receive_previous, call.send_next, call.receive_next, call.send_previous};
}

void NeighbourCalls::post(const NeighbourCall& call) {
    const std::size_t before = actions_.size();
    for (const auto& transfer : inOrder(call)) {
        if (!transfer) continue;
        if (batched_ && actions_.size() > before) actions_.back().grouped = true;
        actions_.push_back(*transfer);
    }
}

void NeighbourCalls::wait(const std::optional<Action>& transfer) {
    if (transfer) actions_.push_back(waitFor(*transfer));
}

void NeighbourCalls::waitForAll(const NeighbourCall& call) {
    for (const auto& transfer : inOrder(call))
        wait(transfer);
}

void NeighbourCalls::postAndWait(const NeighbourCall& call) {
    post(call);
    waitForAll(call);
}

std::optional<Action> NeighbourCalls::send(const Op& op) const {
    const Stage stage = order_.stageOf(rank_, op.chunk);
    const bool forward = op.kind == OpKind::Forward;
    if (stage.value == (forward ? order_.stages() - 1 : 0)) return std::nullopt;
    return actionOf(forward ? ActionKind::SendForward : ActionKind::SendBackward, stage, op.microbatch);
}

std::optional<Action> NeighbourCalls::receive(const Op& op) const {
    const Stage stage = order_.stageOf(rank_, op.chunk);
    const bool forward = op.kind == OpKind::Forward;
    if (stage.value == (forward ? 0 : order_.stages() - 1)) return std::nullopt;
    return actionOf(forward ? ActionKind::ReceiveForward : ActionKind::ReceiveBackward, stage, op.microbatch);
}

} // namespace bubblescope
