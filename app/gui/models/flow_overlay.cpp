#include "app/gui/models/flow_overlay.h"

#include "app/gui/language/text.h"
#include "app/gui/models/session_queries.h"
#include "core/analysis/attribution/attribution.h"
#include "core/timeline/transfers.h"

#include <algorithm>

namespace bubblescope::gui {

namespace {

std::size_t indexOf(int index) {
    return static_cast<std::size_t>(index);
}

/// Micro-batch of an op or a transfer; none for the optimizer and for other items.
std::optional<MicrobatchSlice> microbatchOfItem(const Session& session, const ItemRef& item) {
    if (item.kind == ItemKind::Comm) return microbatchSliceOf(session.comm(item));
    if (item.kind != ItemKind::Op) return std::nullopt;
    const Op& op = session.op(item).op;
    if (op.kind == OpKind::Optimizer) return std::nullopt;
    return microbatchSliceOf(op);
}

Arrow arrowOf(const OpTransfer& transfer, int step) {
    const auto end = [](const TransferEnd& at, LaneKind recorded) {
        return Arrow::End{at.rank.value, at.recorded ? recorded : LaneKind::Compute, at.time};
    };
    Arrow arrow;
    arrow.kind = transfer.payload == Payload::Activation ? Arrow::Kind::Activation : Arrow::Kind::Gradient;
    arrow.from = end(transfer.sent, LaneKind::Send);
    arrow.to = end(transfer.received, LaneKind::Receive);
    arrow.producer = opItem(step, transfer.producer);
    arrow.consumer = opItem(step, transfer.consumer);
    return arrow;
}

/// Arrows for the transfers of one micro-batch, or for all transfers. A step has tens of thousands of transfers, but a
/// selection needs only a few.
std::vector<Arrow> arrowsOf(const StepTimeline& step, int place, const std::optional<MicrobatchSlice>& slice) {
    std::vector<Arrow> out;
    for (const OpTransfer& transfer : transfersBetweenRanks(step, slice))
        out.push_back(arrowOf(transfer, place));
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

const Path& StepFlows::causeOf(const ItemRef& bubble) {
    if (bubble != cause_of_.of) cause_of_ = {bubble, findCause(bubble)};
    return cause_of_.value;
}

std::vector<Arrow> StepFlows::findTransfers(const ItemRef& item) const {
    std::vector<Arrow> out;
    if (item.step != step_) return out;
    const std::optional<MicrobatchSlice> slice = microbatchOfItem(*session_, item);
    if (!slice) return out;
    const bool is_op = item.kind == ItemKind::Op;
    const ItemRef from = is_op ? item : producer(*session_, item);
    const ItemRef to = is_op ? item : consumer(*session_, item);
    std::ranges::copy_if(arrowsOf(session_->step(step_), step_, slice), std::back_inserter(out),
                         [&](const Arrow& arrow) {
                             const bool leaves = arrow.producer == from;
                             const bool comes = arrow.consumer == to;
                             return is_op ? leaves || comes : leaves && comes;
                         });
    return out;
}

Path StepFlows::findCriticalPath() const {
    Path out;
    if (session_->lacksDiagnosis(step_)) out.caption = tr("Finding the critical path …");
    const StepDiagnosis* known = session_->knownDiagnosis(step_);
    if (indexOf(step_) >= session_->report.accounts.size() || known == nullptr) return out;
    const StepDiagnosis& diagnosis = *known;
    Arrow::End before;
    for (const PathSegment& segment : diagnosis.path.segments) {
        const int rank = diagnosis.place(segment.unit).rank.value;
        const TimeRange range{begin() + segment.start, begin() + segment.end};
        // A transfer of length 0 has no segment, but the path still continues on another rank.
        const bool crosses = &segment != &diagnosis.path.segments.front() && before.rank != rank;
        if (crosses) {
            const bool transfer = segment.kind == PathSegment::Kind::Transfer;
            const Arrow::End to{rank, LaneKind::Compute, transfer ? range.end : range.begin};
            out.arrows.push_back({Arrow::Kind::Path, before, to, {}, {}});
        }
        // A rank that is blocked by its own send is waiting.
        if (segment.kind != PathSegment::Kind::Transfer || !crosses)
            out.stretches.push_back({rank, range, segment.kind != PathSegment::Kind::Op, false});
        before = {rank, LaneKind::Compute, range.end};
    }
    const TimeNs wall = session_->window(step_).length();
    const CriticalPath& path = diagnosis.path;
    const TimeNs in_transfers = path.delayed[bubblescope::indexOf(Cause::Communication)];
    const TimeNs late = path.delayed[bubblescope::indexOf(Cause::LateStart)];
    out.caption = tr("Critical path of %1: ops %2, transfers %3, late starts %4, other delays %5")
                      .arg(shortTime(wall), shortTime(path.ops), shortTime(path.transfers + in_transfers),
                           shortTime(late), shortTime(path.delays - in_transfers - late));
    return out;
}

Path StepFlows::findMicrobatch(const ItemRef& item) const {
    Path out;
    if (item.step != step_) return out;
    const std::optional<MicrobatchSlice> slice = microbatchOfItem(*session_, item);
    if (!slice) return out;
    TimeRange extent{TimeNs::max(), TimeNs::min()};
    const StepTimeline& step = session_->step(step_);
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
        for (const TimelineOp& op : step.ranks[rank]) {
            if (op.op.kind == OpKind::Optimizer || microbatchSliceOf(op.op) != *slice) continue;
            out.stretches.push_back({static_cast<int>(rank), {op.start, op.end}, false, false});
            extent = {std::min(extent.begin, op.start), std::max(extent.end, op.end)};
        }
    }
    out.arrows = arrowsOf(step, step_, slice);
    if (!out.stretches.empty())
        out.caption = tr("Micro-batch %1: ops: %2; time from first to last: %3")
                          .arg(slice->microbatch.value)
                          .arg(out.stretches.size())
                          .arg(shortTime(extent.length()));
    return out;
}

TimeRange StepFlows::rangeOf(UnitIndex unit) const {
    return {begin() + graph_->start[indexOf(unit)], begin() + graph_->end[indexOf(unit)]};
}

Path StepFlows::findCause(const ItemRef& bubble) {
    Path out;
    if (bubble.kind != ItemKind::Bubble || bubble.step != step_) return out;
    if (session_->lacksDiagnosis(step_)) out.caption = tr("Finding what this bubble waits for …");
    const std::optional<AttributedBubble> blamed = attributionOf(*session_, bubble);
    if (!blamed) return out;
    if (!bindings_) {
        graph_.emplace(session_->step(step_));
        bindings_ = bindings(*graph_);
    }
    out.caption = causeText(*session_, step_, *blamed);
    const std::vector<UnitIndex> chain = waitChain(*graph_, *bindings_, *blamed);
    for (std::size_t i = 0; i < chain.size(); ++i) {
        const UnitIndex unit = chain[i];
        const bool cause = blamed->cause && blamed->cause->unit == unit;
        const int rank = graph_->rank[indexOf(unit)];
        // The waiting op is shown only if its late start is the cause.
        if (i > 0 || cause) out.stretches.push_back({rank, rangeOf(unit), false, cause});
        if (i + 1 == chain.size()) break;
        const UnitIndex before = chain[i + 1];
        const int from = graph_->rank[indexOf(before)];
        if (from == rank) continue;
        out.arrows.push_back({Arrow::Kind::Blame,
                              {from, LaneKind::Compute, rangeOf(before).end},
                              {rank, LaneKind::Compute, rangeOf(unit).begin},
                              {},
                              {}});
    }
    return out;
}

std::optional<AttributedBubble> attributionOf(const Session& session, const ItemRef& item) {
    if (item.kind != ItemKind::Bubble || indexOf(item.step) >= session.report.accounts.size()) return std::nullopt;
    const StepDiagnosis* diagnosis = session.knownDiagnosis(item.step);
    if (diagnosis == nullptr) return std::nullopt;
    const TimeRange range = session.range(item);
    const TimeNs begin = session.window(item.step).begin;
    return findAttributed(diagnosis->attribution, Rank(item.rank), {range.begin - begin, range.end - begin});
}

QString causeText(const Session& session, int step, const AttributedBubble& blamed) {
    if (!blamed.cause) {
        return blamed.usual >= blamed.end - blamed.start
                   ? tr("The schedule itself: with typical op times, its order has the same wait here")
                   : tr("Nothing on the wait chain of this bubble took longer than usual");
    }
    const StepDiagnosis& diagnosis = *session.knownDiagnosis(step);
    const UnitPlace& place = diagnosis.place(blamed.cause->unit);
    const QString op = fromUtf8(unitName(session.step(step), place));
    const QString by = shortTime(blamed.cause->time);
    QString text;
    switch (blamed.cause->kind) {
    case RootCauseKind::SlowStage: text = tr("%1 of rank %2: its stage takes %3 longer than the typical stage"); break;
    case RootCauseKind::SlowRank:
    case RootCauseKind::SlowOp: text = tr("%1 of rank %2 took %3 longer than usual for its stage"); break;
    case RootCauseKind::SlowLink: text = tr("The transfer to %1 of rank %2 took %3 longer than usual"); break;
    case RootCauseKind::InTransfer: text = tr("%1 of rank %2 started %3 late, during transfers"); break;
    case RootCauseKind::Blocked: text = tr("%1 of rank %2 started %3 late, blocked by its peer"); break;
    case RootCauseKind::ReplayedWork: text = tr("%1 of rank %2 started %3 late, after replayed work"); break;
    case RootCauseKind::LateStart: text = tr("%1 of rank %2 started %3 late"); break;
    }
    return text.arg(op).arg(place.rank.value).arg(by);
}

} // namespace bubblescope::gui
