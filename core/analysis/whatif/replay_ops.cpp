#include "core/analysis/whatif/replay_ops.h"

#include <algorithm>

namespace bubblescope {
namespace {

constexpr std::string_view kForwardComm = "forward-pp-comm";
constexpr std::string_view kBackwardComm = "backward-pp-comm";

constexpr ReplayOpInfo compute(ReplayOp op, std::string_view name) {
    return {op, name, name, false, Meets::Nobody};
}
constexpr ReplayOpInfo collective(ReplayOp op, std::string_view name, Meets meets) {
    return {op, name, name, true, meets};
}

constexpr std::array<ReplayOpInfo, kReplayOpCount> kOps{
    compute(ReplayOp::Forward, "forward-compute"),
    compute(ReplayOp::Backward, "backward-compute"),
    compute(ReplayOp::BackwardInput, "backward-input-compute"),
    compute(ReplayOp::BackwardWeight, "backward-weight-compute"),
    compute(ReplayOp::Pair, "forward-backward-pair"),
    ReplayOpInfo{ReplayOp::ForwardSend, "forward-send", kForwardComm, true, Meets::Peer},
    ReplayOpInfo{ReplayOp::ForwardReceive, "forward-recv", kForwardComm, true, Meets::Peer},
    ReplayOpInfo{ReplayOp::BackwardSend, "backward-send", kBackwardComm, true, Meets::Peer},
    ReplayOpInfo{ReplayOp::BackwardReceive, "backward-recv", kBackwardComm, true, Meets::Peer},
    ReplayOpInfo{ReplayOp::ForwardTransfer, "forward-transfer", kForwardComm, true, Meets::Nobody},
    ReplayOpInfo{ReplayOp::BackwardTransfer, "backward-transfer", kBackwardComm, true, Meets::Nobody},
    collective(ReplayOp::ParamsAllGather, "params-all-gather", Meets::Replicas),
    collective(ReplayOp::GradsReduceScatter, "grads-reduce-scatter", Meets::Replicas),
    collective(ReplayOp::SeparateGradsAllReduce, "separate-grads-all-reduce", Meets::Replicas),
    // Among tensor-parallel ranks, of which a trace's first stands for all.
    collective(ReplayOp::LayernormGradsAllReduce, "layernorm-grads-all-reduce", Meets::Nobody),
    collective(ReplayOp::EmbeddingGradsAllReduce, "embedding-grads-all-reduce", Meets::Ends),
    collective(ReplayOp::ClipMainGrad, "optimizer-clip-main-grad", Meets::Everyone),
    compute(ReplayOp::GarbageCollection, "gc"),
    compute(ReplayOp::Optimizer, "optimizer"),
    compute(ReplayOp::LateStart, "late-start"),
    compute(ReplayOp::Meeting, "meeting"),
};

constexpr bool inOrder() {
    for (std::size_t i = 0; i < kOps.size(); ++i) {
        if (kOps[i].op != static_cast<ReplayOp>(i)) return false;
    }
    return true;
}
static_assert(inOrder());

} // namespace

const ReplayOpInfo& replayOpInfo(ReplayOp op) {
    return kOps[static_cast<std::size_t>(op)];
}

std::optional<ReplayOp> replayOpFromName(std::string_view name) {
    const auto known = std::ranges::find(kOps, name, &ReplayOpInfo::name);
    if (known == kOps.end() || known->op == ReplayOp::Meeting) return std::nullopt;
    return known->op;
}

ReplayOp replayOp(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return ReplayOp::Forward;
    case OpKind::Backward: return ReplayOp::Backward;
    case OpKind::BackwardInput: return ReplayOp::BackwardInput;
    case OpKind::BackwardWeight: return ReplayOp::BackwardWeight;
    case OpKind::Optimizer: break;
    }
    return ReplayOp::Optimizer;
}

TimeNs usualTime(ReplayOp op, std::vector<TimeNs> measured) {
    if (measured.empty() || op == ReplayOp::LateStart) return TimeNs{0};
    const auto count = static_cast<std::int64_t>(measured.size());
    if (replayOpInfo(op).communication) {
        const auto middle = measured.begin() + count / 2;
        std::ranges::nth_element(measured, middle);
        return count % 2 != 0 ? *middle : (*middle + *std::max_element(measured.begin(), middle)) / 2;
    }
    // Sums stay small: a step of hours with a million ops is far below 2^63 ns.
    TimeNs sum{0};
    for (const TimeNs time : measured)
        sum += time;
    return TimeNs{(sum.count() + count / 2) / count};
}

} // namespace bubblescope
