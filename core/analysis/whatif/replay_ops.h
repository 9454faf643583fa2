#pragma once

#include "core/base/time.h"
#include "core/schedule/op.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace bubblescope {

/// What can take time in a step that is replayed: ops, transfers between stages, and what surrounds the pipeline.
/// Their names are those of the straggler study (see straggler_study.h).
enum class ReplayOp : std::uint8_t {
    Forward,
    Backward,
    BackwardInput,
    BackwardWeight,
    Pair, ///< an overlapped forward and backward that run as one
    ForwardSend,
    ForwardReceive,
    BackwardSend,
    BackwardReceive,
    ForwardTransfer, ///< where a trace does not tell the two sides of a transfer apart
    BackwardTransfer,
    ParamsAllGather,
    GradsReduceScatter,
    SeparateGradsAllReduce,
    LayernormGradsAllReduce,
    EmbeddingGradsAllReduce,
    ClipMainGrad,
    GarbageCollection,
    Optimizer,
    LateStart, ///< no op: the time by which one began later than it could
    Meeting,   ///< no op: the moment at which all that take part in a transfer are there
};
inline constexpr std::size_t kReplayOpCount = 21;

/// Whom a transfer or collective needs before it begins.
enum class Meets : std::uint8_t {
    Nobody,
    Peer,     ///< the other side of a transfer between stages
    Replicas, ///< the same rank of every replica
    Ends,     ///< the first and the last rank of its replica, which share the embedding
    Everyone, ///< every rank of every replica
};

struct ReplayOpInfo {
    ReplayOp op;
    std::string_view name;  ///< "forward-compute"
    std::string_view group; ///< what attributions add it to: both sides of a transfer are one
    bool communication;     ///< its usual time is the median; that of compute is the mean
    Meets meets;
};

[[nodiscard]] const ReplayOpInfo& replayOpInfo(ReplayOp op);
[[nodiscard]] std::optional<ReplayOp> replayOpFromName(std::string_view name);

/// A unit on a rank's compute stream that belongs to the pipeline: F, B, I, W or a pair of them.
[[nodiscard]] constexpr bool isPipelineCompute(ReplayOp op) {
    return op <= ReplayOp::Pair;
}
/// A transfer between two stages, or a side of it.
[[nodiscard]] constexpr bool isTransfer(ReplayOp op) {
    return op >= ReplayOp::ForwardSend && op <= ReplayOp::BackwardTransfer;
}
/// What runs once a step and rank, before or after the pipeline.
[[nodiscard]] constexpr bool isSurrounding(ReplayOp op) {
    return op >= ReplayOp::ParamsAllGather && op <= ReplayOp::Optimizer;
}

/// What runs on a rank itself, around the pipeline or in it.
[[nodiscard]] constexpr bool isOp(ReplayOp op) {
    return isPipelineCompute(op) || op == ReplayOp::GarbageCollection || op == ReplayOp::Optimizer;
}

[[nodiscard]] ReplayOp replayOp(OpKind kind);

/// What an op usually takes, of several measurements: the mean, of communication the median (the mean of the middle two
/// where there are two), since a transfer that met a hiccup takes many times as long. Of late starts it is none.
/// Rounded to nanoseconds; 0 of none.
[[nodiscard]] TimeNs usualTime(ReplayOp op, std::vector<TimeNs> measured);

} // namespace bubblescope
