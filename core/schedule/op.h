#pragma once

#include "core/base/ids.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// One unit of work on a rank's compute stream.
enum class OpKind : std::uint8_t {
    Forward,        ///< F
    Backward,       ///< B, whole backward: input gradient and weight gradient
    BackwardInput,  ///< I, gradient for the input
    BackwardWeight, ///< W, gradient for the weights
    Optimizer,      ///< O
};

[[nodiscard]] char opLetter(OpKind kind);
[[nodiscard]] std::optional<OpKind> opKindFromLetter(char letter);

/// True for the ops that send an input gradient to the previous stage (B and I).
[[nodiscard]] constexpr bool producesInputGradient(OpKind kind) {
    return kind == OpKind::Backward || kind == OpKind::BackwardInput;
}

/// What one stage sends to its neighbour: F its output, B and I the gradient for their input.
enum class Payload : std::uint8_t { Activation, Gradient };

/// For F, B and I.
[[nodiscard]] constexpr Payload payloadOf(OpKind kind) {
    return kind == OpKind::Forward ? Payload::Activation : Payload::Gradient;
}

struct Op {
    OpKind kind = OpKind::Forward;
    Microbatch microbatch;
    Chunk chunk;
    std::int32_t sequence = 0; ///< slice of the sequence, if micro-batches are split along it
    bool overlapped = false;   ///< half of a pair that runs as one op; its other half is next to it in the list

    friend constexpr auto operator<=>(const Op&, const Op&) = default;
};

/// "F3.1" = forward of micro-batch 3, chunk 1; "F3.1:2" = its sequence slice 2; the optimizer is "O".
[[nodiscard]] std::string opName(const Op& op);

/// Inverse of opName(), except for `overlapped`, which is not part of the name; also accepts "F3" for chunk 0. Nothing
/// for any other text.
[[nodiscard]] std::optional<Op> parseOpName(std::string_view text);

/// Serialization, see core/base/wire.h.
template <class Wire>
void fields(Wire& wire, Op& value) {
    auto& [kind, microbatch, chunk, sequence, overlapped] = value;
    // A received byte that is neither 0 nor 1 must never become a bool.
    auto pair = static_cast<std::uint8_t>(overlapped ? 1 : 0);
    wire(kind, microbatch, chunk, sequence, pair);
    overlapped = pair != 0;
}

/// Whether a schedule may hold it; an op received from another process may be invalid.
[[nodiscard]] constexpr bool isSane(const Op& op) {
    return op.kind <= OpKind::Optimizer && op.microbatch.value >= 0 && op.chunk.value >= 0 && op.sequence >= 0;
}

} // namespace bubblescope
