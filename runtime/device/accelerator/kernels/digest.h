#pragma once

#include "runtime/device/accelerator/kernels/forms.h"
#include "runtime/model/number_hash.h"

namespace bubblescope::runtime {

/// A 64-bit fingerprint of memory: the sum over its 32-bit words of a mix of place and bits, so that it can be made in
/// parallel, chunk by chunk, and every flipped bit and every swap changes it. The whole is the sum over the chunks.
struct DigestKernel {
    using Form = RowForm;
    std::uint64_t* chunks;
    const std::uint32_t* words;
    std::int64_t size; ///< words
    static constexpr std::int64_t kChunk = 1 << 16;

    struct State {
        std::uint64_t sum;
    };
    using Part = std::uint64_t;
    static constexpr int kPasses = 1;

    [[nodiscard]] std::int64_t rows() const { return (size + kChunk - 1) / kChunk; }
    BUBBLESCOPE_PORTABLE Part part(int /*pass*/, std::int64_t row, int lane, const State& /*state*/) const {
        const std::int64_t begin = row * kChunk;
        const std::int64_t end = begin + kChunk < size ? begin + kChunk : size;
        std::uint64_t sum = 0;
        for (std::int64_t i = begin + lane; i < end; i += kLanes)
            sum += mixBits(mixBits(static_cast<std::uint64_t>(i)) ^ words[i]);
        return sum;
    }
    BUBBLESCOPE_PORTABLE static Part combine(int /*pass*/, Part a, Part b) { return a + b; }
    BUBBLESCOPE_PORTABLE void total(int /*pass*/, Part sum, State& state) const { state.sum = sum; }
    BUBBLESCOPE_PORTABLE void finish(std::int64_t row, int lane, const State& state) const {
        if (lane == 0) chunks[row] = state.sum;
    }
};

} // namespace bubblescope::runtime
