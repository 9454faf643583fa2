#include "app/gui/models/flow_overlay.h"

#include "app/gui/language/format.h"
#include "app/gui/models/session_queries.h"
#include "core/analysis/attribution/chain_tree.h"

#include <QCoreApplication>

#include <algorithm>
#include <map>
#include <tuple>

namespace bubblescope::gui {

namespace {

struct FlowText {
    Q_DECLARE_TR_FUNCTIONS(FlowOverlay)
};

/// A payload on its way: what it is and which stage uses it. One of a step.
using PayloadKey = std::tuple<Payload, int, int, int>;

std::size_t indexOf(int index) {
    return static_cast<std::size_t>(index);
}

/// One micro-batch of a step, or all. A step has tens of thousands of transfers, and what is selected concerns few.
struct MicrobatchPick {
    std::optional<Microbatch> microbatch; ///< none: all
    std::int32_t sequence = 0;

    [[nodiscard]] bool takes(Microbatch other, std::int32_t part) const {
        return !microbatch || (*microbatch == other && sequence == part);
    }
};

/// The recorded sides of a step's transfers.
struct Sides {
    std::map<PayloadKey, Arrow::End> sent;
    std::map<PayloadKey, Arrow::End> received;
};

Sides sidesOf(const StepTimeline& step, const MicrobatchPick& pick) {
    Sides out;
    for (std::size_t rank = 0; rank < step.comm.size(); ++rank) {
        for (const CommSpan& span : step.comm[rank]) {
            if (!pick.takes(span.microbatch, span.sequence)) continue;
            const PayloadKey key{span.payload, span.microbatch.value, span.sequence, span.stage.value};
            const int row = static_cast<int>(rank);
            if (span.kind == CommKind::Send) out.sent.emplace(key, Arrow::End{row, LaneKind::Send, span.start});
            if (span.kind == CommKind::Receive) out.received.emplace(key, Arrow::End{row, LaneKind::Receive, span.end});
        }
    }
    return out;
}

/// F, B and I have an input that another stage may have made.
bool takesPayload(OpKind kind) {
    return kind == OpKind::Forward || kind == OpKind::Backward || kind == OpKind::BackwardInput;
}

struct Made {
    ItemRef item;
    TimeRange range;
};

/// Calls `visit(item, op, payload, stage)` for each op of the pick that hands a payload on or takes one.
template <class Visit>
void forEachOnTheWay(const StepTimeline& step, int place, const MicrobatchPick& pick, const Visit& visit) {
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
        const auto& ops = step.ranks[rank];
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const Op& op = ops[i].op;
            if (!takesPayload(op.kind) || !pick.takes(op.microbatch, op.sequence)) continue;
            const ItemRef item{ItemKind::Op, place, static_cast<std::int32_t>(rank), static_cast<std::int32_t>(i)};
            visit(item, ops[i], payloadOf(op.kind), step.stageOf(Rank(rank), op.chunk).value);
        }
    }
}

/// Who makes which payload: forwards those of the stage after theirs, backwards of the one before.
std::map<PayloadKey, Made> makersOf(const StepTimeline& step, int place, const MicrobatchPick& pick) {
    std::map<PayloadKey, Made> out;
    const int apart = routes(step.placement);
    forEachOnTheWay(step, place, pick, [&](const ItemRef& item, const TimelineOp& made, Payload payload, int stage) {
        const int next = stage + (payload == Payload::Activation ? apart : -apart);
        out.emplace(PayloadKey{payload, made.op.microbatch.value, made.op.sequence, next},
                    Made{item, {made.start, made.end}});
    });
    return out;
}

/// The micro-batch that an op or a transfer belongs to; none for the optimizer and for what is neither.
std::optional<MicrobatchPick> microbatchOfItem(const Session& session, const ItemRef& item) {
    if (item.kind == ItemKind::Comm) {
        const CommSpan& span = session.comm(item);
        return MicrobatchPick{span.microbatch, span.sequence};
    }
    if (item.kind != ItemKind::Op) return std::nullopt;
    const Op& op = session.op(item).op;
    if (op.kind == OpKind::Optimizer) return std::nullopt;
    return MicrobatchPick{op.microbatch, op.sequence};
}

std::vector<Arrow> arrowsOf(const StepTimeline& step, int place, const MicrobatchPick& pick) {
    std::vector<Arrow> out;
    const Sides sides = sidesOf(step, pick);
    const std::map<PayloadKey, Made> makers = makersOf(step, place, pick);
    forEachOnTheWay(step, place, pick, [&](const ItemRef& item, const TimelineOp& taken, Payload payload, int stage) {
        const PayloadKey key{payload, taken.op.microbatch.value, taken.op.sequence, stage};
        const auto maker = makers.find(key);
        if (maker == makers.end() || maker->second.item.rank == item.rank) return;
        Arrow arrow;
        arrow.kind = payload == Payload::Activation ? Arrow::Kind::Activation : Arrow::Kind::Gradient;
        arrow.producer = maker->second.item;
        arrow.consumer = item;
        const auto sent = sides.sent.find(key);
        const auto received = sides.received.find(key);
        arrow.from = sent != sides.sent.end()
                         ? sent->second
                         : Arrow::End{arrow.producer.rank, LaneKind::Compute, maker->second.range.end};
        arrow.to =
            received != sides.received.end() ? received->second : Arrow::End{item.rank, LaneKind::Compute, taken.start};
        out.push_back(arrow);
    });
    return out;
}

} // namespace

StepFlows::StepFlows(SessionPtr session, int step) : session_(std::move(session)), step_(step) {}

const std::vector<Arrow>& StepFlows::transfers() {
    if (!transfers_) transfers_ = arrowsOf(session_->step(step_), step_, {});
    return *transfers_;
}

const Path& StepFlows::criticalPath() {
    if (!critical_path_) critical_path_ = findCriticalPath();
    return *critical_path_;
}

const std::vector<Arrow>& StepFlows::transfersOf(const ItemRef& item) {
    if (item != transfers_of_.of) transfers_of_ = {item, findTransfers(item)};
    return transfers_of_.value;
}

const Path& StepFlows::microbatchOf(const ItemRef& item) {
    if (item != microbatch_of_.of) microbatch_of_ = {item, findMicrobatch(item)};
    return microbatch_of_.value;
}

const Path& StepFlows::blameOf(const ItemRef& bubble) {
    if (bubble != blame_of_.of) blame_of_ = {bubble, findBlame(bubble)};
    return blame_of_.value;
}

std::vector<Arrow> StepFlows::findTransfers(const ItemRef& item) const {
    std::vector<Arrow> out;
    if (item.step != step_) return out;
    const std::optional<MicrobatchPick> pick = microbatchOfItem(*session_, item);
    if (!pick) return out;
    const bool is_op = item.kind == ItemKind::Op;
    const ItemRef from = is_op ? item : producer(*session_, item);
    const ItemRef to = is_op ? item : consumer(*session_, item);
    std::ranges::copy_if(arrowsOf(session_->step(step_), step_, *pick), std::back_inserter(out),
                         [&](const Arrow& arrow) {
                             const bool leaves = arrow.producer == from;
                             const bool comes = arrow.consumer == to;
                             return is_op ? leaves || comes : leaves && comes;
                         });
    return out;
}

Path StepFlows::findCriticalPath() const {
    Path out;
    if (indexOf(step_) >= session_->report.diagnoses.size()) return out;
    const StepDiagnosis& diagnosis = session_->report.diagnoses[indexOf(step_)];
    Arrow::End before;
    for (const PathSegment& segment : diagnosis.path.segments) {
        const int rank = diagnosis.place(segment.unit).rank.value;
        const TimeRange range{begin() + segment.start, begin() + segment.end};
        // A transfer that took no time is no segment, and still the path goes to another rank.
        const bool crosses = &segment != &diagnosis.path.segments.front() && before.rank != rank;
        if (crosses) {
            const bool transfer = segment.kind == PathSegment::Kind::Transfer;
            const Arrow::End to{rank, LaneKind::Compute, transfer ? range.end : range.begin};
            out.arrows.push_back({Arrow::Kind::Path, before, to, {}, {}});
        }
        if (segment.kind != PathSegment::Kind::Transfer)
            out.stretches.push_back({rank, range, segment.kind == PathSegment::Kind::Delay, false});
        before = {rank, LaneKind::Compute, range.end};
    }
    const TimeNs wall = session_->window(step_).length();
    out.caption = FlowText::tr("Critical path of %1: ops %2, transfers %3, late starts %4")
                      .arg(shortTime(wall), shortTime(diagnosis.path.ops), shortTime(diagnosis.path.transfers),
                           shortTime(diagnosis.path.delays));
    return out;
}

Path StepFlows::findMicrobatch(const ItemRef& item) const {
    Path out;
    if (item.step != step_) return out;
    const std::optional<MicrobatchPick> pick = microbatchOfItem(*session_, item);
    if (!pick) return out;
    TimeRange extent{TimeNs::max(), TimeNs::min()};
    const StepTimeline& step = session_->step(step_);
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
        for (const TimelineOp& op : step.ranks[rank]) {
            if (op.op.kind == OpKind::Optimizer || !pick->takes(op.op.microbatch, op.op.sequence)) continue;
            out.stretches.push_back({static_cast<int>(rank), {op.start, op.end}, false, false});
            extent = {std::min(extent.begin, op.start), std::max(extent.end, op.end)};
        }
    }
    out.arrows = arrowsOf(step, step_, *pick);
    if (!out.stretches.empty())
        out.caption = FlowText::tr("Micro-batch %1: ops %2, from the first to the last %3")
                          .arg(pick->microbatch->value)
                          .arg(out.stretches.size())
                          .arg(shortTime(extent.length()));
    return out;
}

TimeRange StepFlows::rangeOf(UnitIndex unit) const {
    return {begin() + graph_->start[indexOf(unit)], begin() + graph_->end[indexOf(unit)]};
}

Path StepFlows::findBlame(const ItemRef& bubble) {
    Path out;
    if (bubble.kind != ItemKind::Bubble || bubble.step != step_) return out;
    const AttributedBubble* blamed = blamedBubble(*session_, bubble);
    if (blamed == nullptr) return out;
    if (!bindings_) {
        graph_.emplace(session_->step(step_));
        bindings_ = bindings(*graph_);
    }
    out.caption = blameText(*session_, step_, *blamed);
    const UnitIndex waiting = blamed->before;
    if (waiting == kNoUnit || waiting >= graph_->size()) return out;
    const ChainTree tree(*bindings_, std::vector<TimeNs>(indexOf(graph_->size()), TimeNs{0}));
    const UnitIndex previous = graph_->previous(indexOf(waiting));
    const UnitIndex meet = previous == kNoUnit ? kNoUnit : tree.meet(waiting, previous);
    UnitIndex unit = waiting;
    while (unit != kNoUnit) {
        const bool cause = blamed->cause && blamed->cause->unit == unit;
        const int rank = graph_->rank[indexOf(unit)];
        // The op that waited is shown only where it is itself to blame: it began late.
        if (unit != waiting || cause) out.stretches.push_back({rank, rangeOf(unit), false, cause});
        if (unit == meet) break;
        const Binding& binding = (*bindings_)[indexOf(unit)];
        if (binding.unit != kNoUnit && graph_->rank[indexOf(binding.unit)] != rank)
            out.arrows.push_back({Arrow::Kind::Blame,
                                  {graph_->rank[indexOf(binding.unit)], LaneKind::Compute, rangeOf(binding.unit).end},
                                  {rank, LaneKind::Compute, rangeOf(unit).begin},
                                  {},
                                  {}});
        unit = binding.unit;
    }
    return out;
}

const AttributedBubble* blamedBubble(const Session& session, const ItemRef& item) {
    if (item.kind != ItemKind::Bubble || indexOf(item.step) >= session.report.diagnoses.size()) return nullptr;
    const TimeRange range = session.range(item);
    const TimeNs begin = session.window(item.step).begin;
    const AttributedBubble* best = nullptr;
    TimeNs most{0};
    // The blame cuts waits at ops of other streams too, so the one that covers most of the bubble speaks for it.
    for (const AttributedBubble& blamed : session.report.diagnoses[indexOf(item.step)].attribution.bubbles) {
        if (blamed.rank.value != item.rank) continue;
        const TimeNs shared = overlap(range, {begin + blamed.start, begin + blamed.end});
        if (shared <= most) continue;
        most = shared;
        best = &blamed;
    }
    return best;
}

QString blameText(const Session& session, int step, const AttributedBubble& blamed) {
    if (!blamed.cause) {
        return blamed.usual >= blamed.end - blamed.start ? FlowText::tr("Nobody: the schedule waits here")
                                                         : FlowText::tr("Nothing on its chain took longer than usual");
    }
    const StepDiagnosis& diagnosis = session.report.diagnoses[indexOf(step)];
    const UnitPlace& place = diagnosis.place(blamed.cause->unit);
    const QString op = fromUtf8(unitName(session.step(step), place));
    const QString by = shortTime(blamed.cause->time);
    QString text;
    switch (blamed.cause->kind) {
    case RootCauseKind::SlowStage:
        text = FlowText::tr("%1 of rank %2: its stage takes %3 longer than the typical one");
        break;
    case RootCauseKind::SlowOp: text = FlowText::tr("%1 of rank %2 took %3 longer than is usual on its stage"); break;
    case RootCauseKind::SlowLink:
        text = FlowText::tr("The transfer to %1 of rank %2 took %3 longer than is typical");
        break;
    case RootCauseKind::LateStart: text = FlowText::tr("%1 of rank %2 began %3 later than it could"); break;
    }
    return text.arg(op).arg(place.rank.value).arg(by);
}

} // namespace bubblescope::gui
