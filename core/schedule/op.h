#pragma once

#include "core/base/ids.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// One unit of work on a rank's compute stream.
enum class OpKind : std::uint8_t {
    Forward,        ///< F
    Backward,       ///< B, complete backward: input gradient and weight gradient
    BackwardInput,  ///< I, gradient with respect to the input
    BackwardWeight, ///< W, gradient with respect to the weights
    Optimizer,      ///< O
};

[[nodiscard]] char opLetter(OpKind kind);
[[nodiscard]] std::optional<OpKind> opKindFromLetter(char letter);

/// True for ops whose input gradient is sent to the previous stage (B and I).
[[nodiscard]] constexpr bool producesInputGradient(OpKind kind) {
    return kind == OpKind::Backward || kind == OpKind::BackwardInput;
}

/// The tensor that a stage sends to its neighbour: F sends its output, B and I send the gradient of their input.
enum class Payload : std::uint8_t { Activation, Gradient };

/// Valid only for F, B and I.
[[nodiscard]] constexpr Payload payloadOf(OpKind kind) {
    return kind == OpKind::Forward ? Payload::Activation : Payload::Gradient;
}

/// Converts a number to the index of a sequence slice. Invalid numbers that exceed 16 bits remain invalid.
[[nodiscard]] constexpr std::int16_t sequenceSlice(std::int64_t number) {
    return static_cast<std::int16_t>(std::clamp<std::int64_t>(number, INT16_MIN, INT16_MAX));
}

/// An op in an order or a timeline. An op occupies only 12 bytes, because there may be millions of ops.
struct Op {
    Microbatch microbatch;
    Chunk chunk;
    std::int16_t sequence = 0; ///< slice of the sequence, if micro-batches are split along it
    OpKind kind = OpKind::Forward;
    bool overlapped = false; ///< half of a pair that runs as one op; the other half is next to it in the list

    constexpr Op() = default;
    constexpr explicit Op(OpKind of) : kind(of) {}
    constexpr Op(OpKind of, Microbatch m, Chunk c, std::int64_t slice = 0, bool pair = false)
        : microbatch(m), chunk(c), sequence(sequenceSlice(slice)), kind(of), overlapped(pair) {}

    friend constexpr bool operator==(const Op&, const Op&) = default;
    /// Sorts by kind, then micro-batch, chunk and sequence slice; halves of pairs come last.
    friend constexpr std::strong_ordering operator<=>(const Op& a, const Op& b) {
        if (a.kind != b.kind) return a.kind <=> b.kind;
        if (a.microbatch != b.microbatch) return a.microbatch <=> b.microbatch;
        if (a.chunk != b.chunk) return a.chunk <=> b.chunk;
        if (a.sequence != b.sequence) return a.sequence <=> b.sequence;
        return a.overlapped <=> b.overlapped;
    }
};

/// "F3.1" is the forward of micro-batch 3 in chunk 1, "F3.1:2" is its sequence slice 2, and the optimizer is "O".
[[nodiscard]] std::string opName(const Op& op);

/// Inverse of opName() without `overlapped`, which the name does not contain; also accepts "F3" for chunk 0. Empty for
/// any other text.
[[nodiscard]] std::optional<Op> parseOpName(std::string_view text);

/// Serialization (see core/base/wire.h).
template <class Wire>
void fields(Wire& wire, Op& value) {
    auto& [microbatch, chunk, sequence, kind, overlapped] = value;
    // A received byte other than 0 or 1 must not become a bool.
    auto pair = static_cast<std::uint8_t>(overlapped ? 1 : 0);
    wire(microbatch, chunk, sequence, kind, pair);
    overlapped = pair != 0;
}

/// True if a schedule may contain the op; ops received from another process may be invalid.
[[nodiscard]] constexpr bool isSane(const Op& op) {
    return op.kind <= OpKind::Optimizer && op.microbatch.value >= 0 && op.chunk.value >= 0 && op.sequence >= 0;
}

} // namespace bubblescope
