#include "app/gui/models/anomaly_target.h"

#include "app/gui/language/format.h"
#include "app/gui/language/sentence_text.h"

namespace bubblescope::gui {

namespace {

int stepOf(const Session& session, const Anomaly& anomaly, int current) {
    const auto fits = [&](int place) {
        const StepTimeline& step = session.step(place);
        return (!anomaly.step || step.index == *anomaly.step) && (!anomaly.replica || step.replica == *anomaly.replica);
    };
    if (current >= 0 && fits(current)) return current;
    for (int place = 0; place < session.stepCount(); ++place) {
        if (fits(place)) return place;
    }
    return std::max(0, current);
}

/// The longest item of those that `wanted` takes.
template <class List, class Wanted>
ItemRef longest(const List& list, ItemKind kind, int step, int rank, const Wanted& wanted) {
    ItemRef best;
    TimeNs most{-1};
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!wanted(list[i]) || list[i].end - list[i].start <= most) continue;
        most = list[i].end - list[i].start;
        best = {kind, step, rank, static_cast<std::int32_t>(i)};
    }
    return best;
}

ItemRef transferItem(const StepTimeline& step, int place, Rank from, Rank to) {
    const auto find = [&](Rank rank, Rank peer, CommKind kind) {
        if (rank.index() >= step.comm.size()) return ItemRef{};
        return longest(step.comm[rank.index()], ItemKind::Comm, place, rank.value,
                       [&](const CommSpan& span) { return span.kind == kind && span.peer == peer; });
    };
    const ItemRef send = find(from, to, CommKind::Send);
    return send ? send : find(to, from, CommKind::Receive);
}

ItemRef itemOf(const Session& session, const Anomaly& anomaly, int place) {
    const StepTimeline& step = session.step(place);
    if (!anomaly.rank || anomaly.rank->index() >= step.ranks.size()) return {};
    const int rank = anomaly.rank->value;
    const auto& ops = step.ranks[anomaly.rank->index()];
    if (anomaly.op) {
        return longest(ops, ItemKind::Op, place, rank, [&](const TimelineOp& op) {
            return op.op.kind == anomaly.op->kind && op.op.microbatch == anomaly.op->microbatch &&
                   op.op.chunk == anomaly.op->chunk && op.op.sequence == anomaly.op->sequence;
        });
    }
    if (anomaly.peer) return transferItem(step, place, *anomaly.rank, *anomaly.peer);
    if (anomaly.kind == AnomalyKind::BubbleAboveForm) {
        const auto& bubbles = session.analysis(place).bubbles[anomaly.rank->index()];
        return longest(bubbles, ItemKind::Bubble, place, rank, [](const Bubble&) { return true; });
    }
    return longest(ops, ItemKind::Op, place, rank, [&](const TimelineOp& op) {
        return op.op.kind != OpKind::Optimizer && (!anomaly.chunk || op.op.chunk == *anomaly.chunk);
    });
}

} // namespace

AnomalyTarget targetOf(const Session& session, const Anomaly& anomaly, int current_step) {
    AnomalyTarget target;
    target.step = stepOf(session, anomaly, current_step);
    if (anomaly.rank) target.rank = anomaly.rank->value;
    target.item = itemOf(session, anomaly, target.step);
    if (anomaly.when) target.range = TimeRange{anomaly.when->start, anomaly.when->end};
    if (anomaly.chunk && anomaly.rank && !anomaly.op) {
        for (const TimelineOp& op : session.step(target.step).ranks[anomaly.rank->index()]) {
            if (op.op.chunk == *anomaly.chunk && op.op.kind != OpKind::Optimizer)
                target.highlights.push_back({anomaly.rank->value, {op.start, op.end}});
        }
    }
    return target;
}

QString changeFor(const Session& session, const Anomaly& anomaly) {
    if (!anomaly.rank) return {};
    switch (anomaly.kind) {
    case AnomalyKind::Straggler:
    case AnomalyKind::SlowStage:
    case AnomalyKind::LastStageImbalance: {
        if (!anomaly.chunk) return QStringLiteral("rank:%1=usual").arg(anomaly.rank->value);
        const Stage stage = session.step(0).stageOf(*anomaly.rank, *anomaly.chunk);
        return QStringLiteral("stage:%1=usual").arg(stage.value);
    }
    case AnomalyKind::SlowLink:
    case AnomalyKind::DegradingLink:
        if (!anomaly.peer) return {};
        return QStringLiteral("link:%1-%2=usual").arg(anomaly.rank->value).arg(anomaly.peer->value);
    default: return {};
    }
}

void goTo(ViewState& state, const Anomaly& anomaly) {
    if (!state.session()) return;
    const AnomalyTarget target = targetOf(*state.session(), anomaly, state.step());
    state.showStep(target.step);
    state.select(target.item);
    state.highlight(target.highlights, translated(anomaly.message));
    // What concerns one op or moment fills the view; what goes through the whole step is shown in it.
    if (target.item && (anomaly.op || anomaly.peer)) {
        state.zoomTo(target.item);
    } else if (target.range) {
        state.zoomTo(*target.range);
    }
    if (target.rank) emit state.rankRequested(*target.rank);
}

} // namespace bubblescope::gui
