#pragma once

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/schedule/op.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Assignment of stages to ranks. p = pipeline-parallel degree, v = chunks per rank.
enum class Placement : std::uint32_t {
    Loop, ///< stage = chunk·p + rank; encoderPlacement() adds the sizes of encoders to this value
    V,    ///< even chunks ascend, odd chunks descend: rank r has stages r, 2p−1−r, 2p+r, …
    /// Two pipelines over the same ranks, the second from the last rank to the first, with separate weights. Even
    /// chunks belong to the first pipeline and odd chunks to the second; each pipeline is placed as a V. Stage numbers
    /// of the pipelines alternate: stage = 2·(place in its pipeline) + (0 for the first, 1 for the second).
    Bidirectional,
    /// Any rank may run any op (core/schedule/moving_names.h). Chunks are stage numbers on every rank, so v is the
    /// number of stages, and Schedule::stages() is only an upper bound. locate() returns rank 0 for every stage.
    Moving,
};

/// Number of stages that exist: v if stages move, otherwise p·v.
[[nodiscard]] constexpr int stageCount(Placement placement, int pp, int vpp) {
    return placement == Placement::Moving ? vpp : pp * vpp;
}

/// Number of pipelines that share the ranks. The numbers of neighbouring stages in a pipeline differ by this number.
[[nodiscard]] constexpr int routes(Placement placement) {
    return placement == Placement::Bidirectional ? 2 : 1;
}

/// Number of pipeline ranks of the encoders before a trunk, in one pipeline with a stage per rank. Stages and ranks are
/// numbered from the first encoder to the second and the trunk. A micro-batch passes both encoders at the same time,
/// and the trunk's first stage joins their outputs.
struct Encoders {
    int first = 0;
    int second = 0; ///< 0 = there is only one encoder, so all stages are a chain

    [[nodiscard]] constexpr int ranks() const { return first + second; }
    /// Number of ranks of the longer encoder, which a micro-batch passes before the trunk.
    [[nodiscard]] constexpr int depth() const { return first > second ? first : second; }
    friend constexpr bool operator==(Encoders, Encoders) = default;
};
inline constexpr int kMaxEncoderRanks = (1 << 14) - 1;

/// The loop placement with these encoders, each of at most kMaxEncoderRanks ranks.
[[nodiscard]] constexpr Placement encoderPlacement(Encoders encoders) {
    return static_cast<Placement>(static_cast<std::uint32_t>(encoders.first) << 4U |
                                  static_cast<std::uint32_t>(encoders.second) << 18U);
}
/// Zeros if the placement has no encoders.
[[nodiscard]] constexpr Encoders encodersOf(Placement placement) {
    const auto bits = static_cast<std::uint32_t>(placement);
    return {static_cast<int>(bits >> 4U & kMaxEncoderRanks), static_cast<int>(bits >> 18U)};
}
/// The placement without encoders.
[[nodiscard]] constexpr Placement withoutEncoders(Placement placement) {
    return static_cast<Placement>(static_cast<std::uint32_t>(placement) & 15U);
}
/// True if two encoders feed the trunk. Its first stage then receives from two stages, and sends gradients to both.
[[nodiscard]] constexpr bool joins(Placement placement) {
    return encodersOf(placement).second > 0;
}
/// The stage that receives a stage's activations. May be a number beyond the last stage.
[[nodiscard]] constexpr int stageAfter(Placement placement, int stage) {
    const Encoders encoders = encodersOf(placement);
    if (joins(placement) && stage == encoders.first - 1) return encoders.ranks();
    return stage + routes(placement);
}
/// The stage that receives a stage's gradients; negative for the first stage of each pipeline or encoder. If the trunk
/// joins two encoders, this is the second.
[[nodiscard]] constexpr int stageBefore(Placement placement, int stage) {
    if (joins(placement) && stage == encodersOf(placement).first) return -1;
    return stage - routes(placement);
}
/// The stage of the first encoder that sends to the trunk's first stage, as stageBefore() does; -1 for other stages.
[[nodiscard]] constexpr int joinedStage(Placement placement, int stage) {
    const Encoders encoders = encodersOf(placement);
    return joins(placement) && stage == encoders.ranks() ? encoders.first - 1 : -1;
}

/// Number of stages on the longest path through encoders and trunk, in a pipeline with `pp` stages.
[[nodiscard]] constexpr int pathLength(Placement placement, int pp) {
    const Encoders encoders = encodersOf(placement);
    return pp - encoders.ranks() + encoders.depth();
}
/// Number of stages on the longest path before a stage.
[[nodiscard]] constexpr int pathPlace(Placement placement, int stage) {
    const Encoders encoders = encodersOf(placement);
    if (stage < encoders.first) return stage;
    return stage < encoders.ranks() ? stage - encoders.first : stage - encoders.ranks() + encoders.depth();
}

/// The stages at the ends of a transfer.
struct TransferStages {
    int producer = 0; ///< outside the range of stages if there is none
    int consumer = 0;
    friend constexpr bool operator==(TransferStages, TransferStages) = default;
};
/// The ends of the transfer with this payload and number. Its number is that of the consuming stage; where two encoders
/// join, the activations of the first have the number of stages, so that the trunk's two inputs differ.
[[nodiscard]] constexpr TransferStages transferStages(Placement placement, int stages, Payload payload, int number) {
    if (payload == Payload::Gradient) return {stageAfter(placement, number), number};
    const int trunk = encodersOf(placement).ranks();
    if (joins(placement) && number == stages) return {joinedStage(placement, trunk), trunk};
    return {stageBefore(placement, number), number};
}
/// The number of the transfer of a stage's output to the next stage, or for gradients to the previous one.
[[nodiscard]] constexpr int transferNumber(Placement placement, int stages, Payload payload, int producer) {
    if (payload == Payload::Gradient) return stageBefore(placement, producer);
    return joins(placement) && producer == encodersOf(placement).first - 1 ? stages : stageAfter(placement, producer);
}

struct Location {
    Rank rank;
    Chunk chunk;
    friend constexpr bool operator==(Location, Location) = default;
};

[[nodiscard]] Stage stageOf(Placement placement, int pp, Rank rank, Chunk chunk);
[[nodiscard]] Location locate(Placement placement, int pp, Stage stage);

/// "loop", "v", "bidirectional", "encoders-2" or, with two encoders, "encoders-2-1".
[[nodiscard]] std::string placementName(Placement placement);
[[nodiscard]] std::optional<Placement> placementFromName(std::string_view name);

/// The order in which each rank executes its ops in one step, without times. May be invalid, for example if it is from
/// a file: see validate().
struct Schedule {
    std::string name;     ///< name of the family in the registry; "custom" if the order belongs to none
    std::string flavor;   ///< author or program that defined the order; empty if the family has only one order
    int pp = 1;           ///< p, number of pipeline ranks
    int microbatches = 1; ///< m
    int vpp = 1;          ///< v, number of chunks per rank
    Placement placement = Placement::Loop;
    std::vector<std::vector<Op>> ranks; ///< one list per rank in execution order; the size is pp

    [[nodiscard]] int stages() const { return pp * vpp; }
    [[nodiscard]] Stage stageOf(Rank rank, Chunk chunk) const {
        return bubblescope::stageOf(placement, pp, rank, chunk);
    }
    [[nodiscard]] std::size_t opCount() const;
};

/// Rejects moving stages for code that needs the rank of a stage; `what` names it in the error. Errors: Usage.
[[nodiscard]] Status rejectMoving(Placement placement, std::string_view what);
/// Rejects encoders and moving stages for code that assumes one chain of stages; `what` names it in the error. Errors:
/// Usage.
[[nodiscard]] Status rejectEncoders(Placement placement, std::string_view what);

/// Display name of an order: "interleaved (megatron)".
[[nodiscard]] std::string orderName(std::string_view family, std::string_view flavor);
[[nodiscard]] std::string orderName(const Schedule& schedule);
/// Sizes as text, such as "p = 4, m = 8, v = 2".
[[nodiscard]] std::string sizesText(int pp, int microbatches, int vpp);
[[nodiscard]] std::string sizesText(const Schedule& schedule);
/// Name and sizes: "interleaved (megatron), p = 4, m = 8, v = 2".
[[nodiscard]] std::string scheduleTitle(const Schedule& schedule);

} // namespace bubblescope
