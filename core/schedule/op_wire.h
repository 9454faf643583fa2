#pragma once

#include "core/base/wire.h"
#include "core/schedule/op.h"

#include <cstdint>

// How an op travels: see core/base/wire.h.
namespace bubblescope {

template <class Wire>
void fields(Wire& wire, Op& value) {
    auto& [kind, microbatch, chunk, sequence, overlapped] = value;
    // A byte off the wire that is neither 0 nor 1 must never become a bool.
    auto pair = static_cast<std::uint8_t>(overlapped ? 1 : 0);
    wire(kind, microbatch, chunk, sequence, pair);
    overlapped = pair != 0;
}

/// Whether it is one that a schedule may have: what comes from elsewhere need not be.
[[nodiscard]] constexpr bool isSane(const Op& op) {
    return op.kind <= OpKind::Optimizer && op.microbatch.value >= 0 && op.chunk.value >= 0 && op.sequence >= 0;
}

} // namespace bubblescope
