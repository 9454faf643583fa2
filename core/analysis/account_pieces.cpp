#include "core/analysis/account_pieces.h"

#include "core/graph/step_graph.h"

#include <algorithm>

namespace bubblescope {
namespace {

using Kind = AccountPiece::Kind;

std::vector<AccountPiece> listPieces() {
    std::vector<AccountPiece> pieces;
    for (const OpKind kind : {OpKind::Forward, OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight})
        pieces.push_back({Kind::Compute, kind, {}});
    pieces.push_back({Kind::Overlapped, {}, {}});
    pieces.push_back({Kind::Compute, OpKind::Optimizer, {}});
    for (std::size_t cause = 0; cause < kCauseCount; ++cause)
        pieces.push_back({Kind::Cause, {}, static_cast<Cause>(cause)});
    return pieces;
}

void addOps(const AccountPiece& piece, const std::vector<TimelineOp>& ops, std::vector<TimeInterval>& out) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const bool pair = beginsPair(ops, i);
        const std::size_t last = pair ? i + 1 : i;
        if (pair ? piece.kind == Kind::Overlapped : piece.kind == Kind::Compute && ops[i].op.kind == piece.op)
            out.push_back({ops[i].start, std::max(ops[i].end, ops[last].end)});
        i = last;
    }
}

bool shows(Cause cause, const AttributedBubble& wait) {
    const auto behind = [&](RootCauseKind kind) { return wait.cause && wait.cause->kind == kind; };
    switch (cause) {
    case Cause::Schedule: return wait.usual > TimeNs{0};
    case Cause::Imbalance: return behind(RootCauseKind::SlowStage);
    case Cause::Jitter: return behind(RootCauseKind::SlowOp);
    case Cause::Communication: return behind(RootCauseKind::SlowLink) || behind(RootCauseKind::InTransfer);
    case Cause::Peer: return behind(RootCauseKind::Blocked);
    case Cause::Replay: return behind(RootCauseKind::ReplayedWork);
    case Cause::LateStart: return behind(RootCauseKind::LateStart);
    case Cause::Gaps: return false;
    case Cause::Slowdown:
    case Cause::Order:
    case Cause::Unknown: break;
    }
    return !wait.cause && wait.end - wait.start > wait.usual;
}

} // namespace

const std::vector<AccountPiece>& accountPieces() {
    static const std::vector<AccountPiece> pieces = listPieces();
    return pieces;
}

TimeNs timeOf(const RankAccounting& account, const AccountPiece& piece) {
    switch (piece.kind) {
    case Kind::Compute: return account.compute[static_cast<std::size_t>(piece.op)];
    case Kind::Overlapped: return account.overlapped;
    case Kind::Cause: break;
    }
    return account.causes[static_cast<std::size_t>(piece.cause)];
}

std::vector<TimeInterval> whereIs(const AccountPiece& piece, const StepTimeline& step, const StepDiagnosis& diagnosis,
                                  Rank rank) {
    std::vector<TimeInterval> out;
    if (rank.index() >= step.ranks.size()) return out;
    const std::vector<TimelineOp>& ops = step.ranks[rank.index()];
    if (piece.kind != Kind::Cause) {
        addOps(piece, ops, out);
        return out;
    }
    for (const AttributedBubble wait : diagnosis.attribution.bubbles.of(rank)) {
        if (shows(piece.cause, wait)) out.push_back({step.begin + wait.start, step.begin + wait.end});
    }
    for (const TimelineOp& op : ops) {
        const OpDetails& details = step.detailsOf(op);
        const bool inside = (piece.cause == Cause::Gaps && details.device_idle > TimeNs{0}) ||
                            (piece.cause == Cause::Communication && details.exposed_comm > TimeNs{0});
        if (inside) out.push_back({op.start, op.end});
    }
    if (piece.cause == Cause::Communication && rank.index() < step.comm.size()) {
        for (const CommSpan& span : step.comm[rank.index()]) {
            if (span.kind == CommKind::Wait) out.push_back({span.start, span.end});
        }
    }
    std::ranges::sort(out, {}, &TimeInterval::start);
    return out;
}

} // namespace bubblescope
