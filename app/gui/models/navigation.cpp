#include "app/gui/models/navigation.h"

#include <algorithm>
#include <initializer_list>

namespace bubblescope::gui {

namespace {

ItemRef asItem(const Span& span, std::int32_t rank) {
    return {ItemKind::Op, span.step, rank, span.index};
}

/// The first op of the given kinds for `microbatch` at `stage`; kinds are tried in order.
ItemRef findOp(const Session& session, int step_place, std::initializer_list<OpKind> kinds, Microbatch microbatch,
               Stage stage) {
    const StepTimeline& step = session.step(step_place);
    if (stage.value < 0 || stage.value >= step.pp * step.vpp) return {};
    const Location place = locate(step.placement, step.pp, stage);
    if (place.rank.index() >= step.ranks.size()) return {};
    const auto& ops = step.ranks[place.rank.index()];
    for (const OpKind kind : kinds) {
        const auto found = std::find_if(ops.begin(), ops.end(), [&](const TimelineOp& op) {
            return op.op.kind == kind && op.op.microbatch == microbatch && op.op.chunk == place.chunk;
        });
        if (found != ops.end())
            return {ItemKind::Op, step_place, place.rank.value, static_cast<std::int32_t>(found - ops.begin())};
    }
    return {};
}

ItemRef findForward(const Session& session, int step, Microbatch microbatch, Stage stage) {
    return findOp(session, step, {OpKind::Forward}, microbatch, stage);
}

ItemRef findBackward(const Session& session, int step, Microbatch microbatch, Stage stage) {
    return findOp(session, step, {OpKind::Backward, OpKind::BackwardInput}, microbatch, stage);
}

/// `stage` of a transfer is the consumer's; an activation came from the stage before, a gradient from the
/// one after.
ItemRef commEnd(const Session& session, const ItemRef& from, bool consumer_side) {
    const CommSpan& span = session.comm(from);
    if (span.payload == Payload::Activation)
        return findForward(session, from.step, span.microbatch, Stage(span.stage.value - (consumer_side ? 0 : 1)));
    return findBackward(session, from.step, span.microbatch, Stage(span.stage.value + (consumer_side ? 0 : 1)));
}

} // namespace

ItemRef neighbourOp(const Session& session, const ItemRef& from, int direction) {
    if (!from) return {};
    const Lane& lane = session.lanes.lane(static_cast<std::size_t>(from.rank), LaneKind::Compute);
    const auto& spans = lane.spans();
    const TimeNs start = session.range(from).begin;
    auto at = static_cast<std::ptrdiff_t>(lane.firstStartingFrom(start));
    const auto size = static_cast<std::ptrdiff_t>(spans.size());
    if (from.kind == ItemKind::Op) {
        // Ops of length 0 may share a start.
        while (at < size && asItem(spans[static_cast<std::size_t>(at)], from.rank) != from)
            ++at;
        at += direction;
    } else if (direction < 0) {
        --at;
    }
    return at >= 0 && at < size ? asItem(spans[static_cast<std::size_t>(at)], from.rank) : ItemRef{};
}

ItemRef producer(const Session& session, const ItemRef& from) {
    if (from.kind == ItemKind::Comm) return commEnd(session, from, false);
    if (from.kind != ItemKind::Op) return {};
    const StepTimeline& step = session.step(from.step);
    const Op op = session.op(from).op;
    const Stage stage = step.stageOf(Rank(from.rank), op.chunk);
    switch (op.kind) {
    case OpKind::Forward: return findForward(session, from.step, op.microbatch, Stage(stage.value - 1));
    case OpKind::Backward:
    case OpKind::BackwardInput:
        if (stage.value == step.pp * step.vpp - 1) return findForward(session, from.step, op.microbatch, stage);
        return findBackward(session, from.step, op.microbatch, Stage(stage.value + 1));
    case OpKind::BackwardWeight: return findOp(session, from.step, {OpKind::BackwardInput}, op.microbatch, stage);
    case OpKind::Optimizer: break;
    }
    return {};
}

ItemRef consumer(const Session& session, const ItemRef& from) {
    if (from.kind == ItemKind::Comm) return commEnd(session, from, true);
    if (from.kind != ItemKind::Op) return {};
    const StepTimeline& step = session.step(from.step);
    const Op op = session.op(from).op;
    const Stage stage = step.stageOf(Rank(from.rank), op.chunk);
    switch (op.kind) {
    case OpKind::Forward:
        if (stage.value == step.pp * step.vpp - 1) return findBackward(session, from.step, op.microbatch, stage);
        return findForward(session, from.step, op.microbatch, Stage(stage.value + 1));
    case OpKind::Backward:
    case OpKind::BackwardInput: return findBackward(session, from.step, op.microbatch, Stage(stage.value - 1));
    case OpKind::BackwardWeight:
    case OpKind::Optimizer: break;
    }
    return {};
}

ItemRef opNear(const Session& session, int rank, TimeNs time) {
    const Lane& lane = session.lanes.lane(static_cast<std::size_t>(rank), LaneKind::Compute);
    const auto& spans = lane.spans();
    if (spans.empty()) return {};
    const std::size_t after = std::min(lane.firstEndingAfter(time), spans.size() - 1);
    if (spans[after].start <= time || after == 0) return asItem(spans[after], rank);
    const Span& before = spans[after - 1];
    return asItem(time - before.end < spans[after].start - time ? before : spans[after], rank);
}

} // namespace bubblescope::gui
