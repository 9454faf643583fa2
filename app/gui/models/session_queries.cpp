#include "app/gui/models/session_queries.h"

#include <algorithm>
#include <initializer_list>

namespace bubblescope::gui {

namespace {

ItemRef asItem(const Span& span, std::int32_t rank) {
    return {ItemKind::Op, span.step, rank, span.index};
}

/// Which slice of which micro-batch.
struct NameUnit {
    Microbatch microbatch;
    std::int32_t sequence = 0;
};

/// The first op of the given kinds for `unit` at `stage`; kinds are tried in order.
ItemRef findOp(const Session& session, int step_place, std::initializer_list<OpKind> kinds, NameUnit unit,
               Stage stage) {
    const StepTimeline& step = session.step(step_place);
    if (stage.value < 0 || stage.value >= step.pp * step.vpp) return {};
    const Location place = locate(step.placement, step.pp, stage);
    if (place.rank.index() >= step.ranks.size()) return {};
    const auto& ops = step.ranks[place.rank.index()];
    for (const OpKind kind : kinds) {
        const auto found = std::find_if(ops.begin(), ops.end(), [&](const TimelineOp& op) {
            return op.op.kind == kind && op.op.microbatch == unit.microbatch && op.op.sequence == unit.sequence &&
                   op.op.chunk == place.chunk;
        });
        if (found != ops.end())
            return {ItemKind::Op, step_place, place.rank.value, static_cast<std::int32_t>(found - ops.begin())};
    }
    return {};
}

ItemRef findForward(const Session& session, int step, NameUnit unit, Stage stage) {
    return findOp(session, step, {OpKind::Forward}, unit, stage);
}

ItemRef findBackward(const Session& session, int step, NameUnit unit, Stage stage) {
    return findOp(session, step, {OpKind::Backward, OpKind::BackwardInput}, unit, stage);
}

/// How far the neighbours of a stage are in number: two pipelines' stages alternate.
int apartIn(const Session& session, const ItemRef& item) {
    return routes(session.step(item.step).placement);
}

/// `stage` of a transfer is the consumer's; an activation came from the stage before, a gradient from the
/// one after.
ItemRef commEnd(const Session& session, const ItemRef& from, bool consumer_side) {
    const CommSpan& span = session.comm(from);
    const NameUnit unit{span.microbatch, span.sequence};
    const int apart = consumer_side ? 0 : apartIn(session, from);
    if (span.payload == Payload::Activation)
        return findForward(session, from.step, unit, Stage(span.stage.value - apart));
    return findBackward(session, from.step, unit, Stage(span.stage.value + apart));
}

/// The op in whose time a slice of its rank starts, or the nearest.
ItemRef opAround(const Session& session, const ItemRef& slice) {
    return opNear(session, session.lanes.lineOf(slice), session.range(slice).begin);
}

} // namespace

ItemRef neighbourOp(const Session& session, const ItemRef& from, int direction) {
    if (!from) return {};
    const Lane& lane = session.lanes.lane(static_cast<std::size_t>(session.lanes.lineOf(from)), LaneKind::Compute);
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
    if (from.kind == ItemKind::Slice) return opAround(session, from);
    if (from.kind == ItemKind::Comm) return commEnd(session, from, false);
    if (from.kind != ItemKind::Op) return {};
    const StepTimeline& step = session.step(from.step);
    const Op op = session.op(from).op;
    const NameUnit unit{op.microbatch, op.sequence};
    const Stage stage = step.stageOf(Rank(from.rank), op.chunk);
    const int apart = apartIn(session, from);
    switch (op.kind) {
    case OpKind::Forward: return findForward(session, from.step, unit, Stage(stage.value - apart));
    case OpKind::Backward:
    case OpKind::BackwardInput:
        if (stage.value + apart >= step.pp * step.vpp) return findForward(session, from.step, unit, stage);
        return findBackward(session, from.step, unit, Stage(stage.value + apart));
    case OpKind::BackwardWeight: return findOp(session, from.step, {OpKind::BackwardInput}, unit, stage);
    case OpKind::Optimizer: break;
    }
    return {};
}

ItemRef consumer(const Session& session, const ItemRef& from) {
    if (from.kind == ItemKind::Comm) return commEnd(session, from, true);
    if (from.kind != ItemKind::Op) return {};
    const StepTimeline& step = session.step(from.step);
    const Op op = session.op(from).op;
    const NameUnit unit{op.microbatch, op.sequence};
    const Stage stage = step.stageOf(Rank(from.rank), op.chunk);
    const int apart = apartIn(session, from);
    switch (op.kind) {
    case OpKind::Forward:
        if (stage.value + apart >= step.pp * step.vpp) return findBackward(session, from.step, unit, stage);
        return findForward(session, from.step, unit, Stage(stage.value + apart));
    case OpKind::Backward:
    case OpKind::BackwardInput: return findBackward(session, from.step, unit, Stage(stage.value - apart));
    case OpKind::BackwardWeight:
    case OpKind::Optimizer: break;
    }
    return {};
}

ItemRef otherHalf(const Session& session, const ItemRef& from) {
    if (from.kind != ItemKind::Op || !session.op(from).op.overlapped) return {};
    const auto& ops = session.step(from.step).ranks[static_cast<std::size_t>(from.rank)];
    const TimelineOp& half = session.op(from);
    for (const std::int32_t index : {from.index - 1, from.index + 1}) {
        if (index < 0 || index >= static_cast<std::int32_t>(ops.size())) continue;
        const TimelineOp& other = ops[static_cast<std::size_t>(index)];
        if (other.op.overlapped && other.start == half.start && other.end == half.end)
            return {ItemKind::Op, from.step, from.rank, index};
    }
    return {};
}

ItemRef opNear(const Session& session, int line, TimeNs time) {
    const Lane& lane = session.lanes.lane(static_cast<std::size_t>(line), LaneKind::Compute);
    const int rank = session.lanes.rankOf(line);
    const auto& spans = lane.spans();
    if (spans.empty()) return {};
    const std::size_t after = std::min(lane.firstEndingAfter(time), spans.size() - 1);
    if (spans[after].start <= time || after == 0) return asItem(spans[after], rank);
    const Span& before = spans[after - 1];
    return asItem(time - before.end < spans[after].start - time ? before : spans[after], rank);
}

namespace {

template <class Visit>
void visit(const Lane& lane, const TimeRange& range, const Visit& each) {
    for (std::size_t i = lane.firstEndingAfter(range.begin); i < lane.spans().size(); ++i) {
        const Span& span = lane.spans()[i];
        if (span.start >= range.end) break;
        if (span.end > range.begin) each(span);
    }
}

} // namespace

TimeNs RangeStats::busy() const {
    TimeNs sum{0};
    for (const RankShare& rank : ranks)
        sum += rank.busy;
    return sum;
}

TimeNs RangeStats::bubble() const {
    TimeNs sum{0};
    for (const RankShare& rank : ranks)
        sum += rank.bubble;
    return sum;
}

int RangeStats::ops() const {
    int sum = 0;
    for (const RankShare& rank : ranks)
        sum += rank.ops;
    return sum;
}

double RangeStats::busyShare() const {
    const double all = static_cast<double>(range.length().count()) * static_cast<double>(ranks.size());
    return all > 0 ? static_cast<double>(busy().count()) / all : 0;
}

RangeStats statsOf(const Session& session, const TimeRange& range) {
    RangeStats out;
    out.range = range;
    out.ranks.resize(session.lanes.lineCount());
    for (std::size_t rank = 0; rank < out.ranks.size(); ++rank) {
        RangeStats::RankShare& share = out.ranks[rank];
        TimeNs counted_to = range.begin;
        visit(session.lanes.lane(rank, LaneKind::Compute), range, [&](const Span& span) {
            ++share.ops;
            share.busy += overlap(range, {std::max(span.start, counted_to), span.end});
            counted_to = std::max(counted_to, span.end);
        });
        visit(session.lanes.lane(rank, LaneKind::Bubble), range, [&](const Span& span) {
            share.bubble += overlap(range, {span.start, span.end});
        });
    }
    return out;
}

TimeNs snapped(const Session& session, int line, TimeNs time, TimeNs reach) {
    if (line < 0 || line >= static_cast<int>(session.lanes.lineCount())) return time;
    TimeNs best = time;
    TimeNs distance = reach + TimeNs{1};
    for (std::size_t kind = 0; kind < kLaneCount; ++kind) {
        const Lane& lane = session.lanes.lane(static_cast<std::size_t>(line), static_cast<LaneKind>(kind));
        visit(lane, {time - reach - TimeNs{1}, time + reach + TimeNs{1}}, [&](const Span& span) {
            for (const TimeNs edge : {span.start, span.end}) {
                const TimeNs away = std::chrono::abs(edge - time);
                if (away >= distance) continue;
                distance = away;
                best = edge;
            }
        });
    }
    return best;
}

} // namespace bubblescope::gui
