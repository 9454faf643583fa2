#pragma once

#include "core/aadiff/digest.h"
#include "runtime/accelerator/kernels/portable.h"

namespace bubblescope::runtime {

// Random numbers that depend only on a seed and a name, and are the same on every machine and device. `Synthetic`
// defines the names.

/// SplitMix64: the output for the state `x`.
BUBBLESCOPE_PORTABLE inline std::uint64_t mixBits(std::uint64_t x) {
    return digest::mix(x + digest::kOdd);
}

BUBBLESCOPE_PORTABLE inline std::uint64_t numberOf(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    return mixBits(mixBits(mixBits(seed) ^ stream) ^ index);
}

/// Element `i` of the sequence named `base`, uniformly distributed over [-1, 1) in steps that a float represents
/// exactly.
BUBBLESCOPE_PORTABLE inline float unitOf(std::uint64_t base, std::uint64_t i) {
    return static_cast<float>(mixBits(base + i) >> 40U) * 1.1920928955078125e-7F - 1.0F; // 2^-23
}

/// Name of the random number that determines a sequence's position in the text.
BUBBLESCOPE_PORTABLE inline std::uint64_t sequenceName(std::int64_t step, int microbatch, int sequence) {
    return (static_cast<std::uint64_t>(step) << 32U) ^ (static_cast<std::uint64_t>(microbatch) << 12U) ^
           static_cast<std::uint64_t>(sequence);
}

} // namespace bubblescope::runtime
