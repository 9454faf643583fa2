#pragma once

#include "core/aadiff/digest.h"
#include "runtime/accelerator/kernels/forms.h"

namespace bubblescope::runtime {

/// The digest of core/aadiff/digest.h of a buffer of any size and alignment. The terms of its words are summed block by
/// block: a single block writes the digest; several blocks write one sum each, which DigestTotalKernel combines.
struct DigestKernel {
    using Form = RowForm;
    std::uint64_t* to; ///< rows() values
    const unsigned char* data;
    std::int64_t bytes;
    static constexpr std::int64_t kWord = 8;
    static constexpr std::int64_t kBlock =
        1 << 11; ///< words: few, so that a tensor of some MiB has a block of threads for each processor

    struct State {
        std::uint64_t sum;
    };
    using Part = std::uint64_t;
    static constexpr int kPasses = 1;

    BUBBLESCOPE_PORTABLE std::int64_t words() const { return (bytes + kWord - 1) / kWord; }
    /// An empty buffer has a digest, too.
    BUBBLESCOPE_PORTABLE std::int64_t rows() const { return words() <= kBlock ? 1 : (words() + kBlock - 1) / kBlock; }
    BUBBLESCOPE_PORTABLE static std::int64_t columns() { return 0; }
    BUBBLESCOPE_PORTABLE std::int64_t terms(std::int64_t row) const {
        const std::int64_t left = words() - row * kBlock;
        return left < kBlock ? left : kBlock;
    }
    BUBBLESCOPE_PORTABLE static Part zero(int /*pass*/) { return 0; }
    BUBBLESCOPE_PORTABLE Part term(int /*pass*/, std::int64_t row, std::int64_t i, const State& /*state*/) const {
        const bool aligned = reinterpret_cast<std::uintptr_t>(data) % kWord == 0;
        const std::int64_t at = row * kBlock + i;
        return digest::term(static_cast<std::uint64_t>(at), word(at, aligned));
    }
    BUBBLESCOPE_PORTABLE static Part combine(int /*pass*/, Part a, Part b) { return a + b; }
    BUBBLESCOPE_PORTABLE void total(int /*pass*/, Part sum, State& state) const { state.sum = sum; }
    BUBBLESCOPE_PORTABLE void write(std::int64_t /*row*/, std::int64_t /*i*/, const State& /*state*/) const {}
    BUBBLESCOPE_PORTABLE void finish(std::int64_t row, const State& state) const {
        to[row] = rows() > 1 ? state.sum : digest::finish(state.sum, static_cast<std::uint64_t>(bytes));
    }

private:
    BUBBLESCOPE_PORTABLE std::uint64_t word(std::int64_t i, bool aligned) const {
        const unsigned char* const at = data + i * kWord;
        const std::int64_t there = bytes - i * kWord;
        std::uint64_t word = 0;
        if (aligned && there >= kWord) {
            memcpy(&word, __builtin_assume_aligned(at, kWord), kWord);
            return word;
        }
        for (std::int64_t byte = 0; byte < kWord && byte < there; ++byte)
            word |= static_cast<std::uint64_t>(at[byte]) << static_cast<unsigned>(8 * byte);
        return word;
    }
};

struct DigestTotalKernel {
    using Form = RowForm;
    std::uint64_t* to;
    const std::uint64_t* sums;
    std::int64_t count;
    std::int64_t bytes; ///< size of the buffer

    struct State {
        std::uint64_t sum;
    };
    using Part = std::uint64_t;
    static constexpr int kPasses = 1;

    [[nodiscard]] BUBBLESCOPE_PORTABLE static std::int64_t rows() { return 1; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE static std::int64_t columns() { return 0; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t terms(std::int64_t /*row*/) const { return count; }
    BUBBLESCOPE_PORTABLE static Part zero(int /*pass*/) { return 0; }
    BUBBLESCOPE_PORTABLE Part term(int /*pass*/, std::int64_t /*row*/, std::int64_t i, const State& /*state*/) const {
        return sums[i];
    }
    BUBBLESCOPE_PORTABLE static Part combine(int /*pass*/, Part a, Part b) { return a + b; }
    BUBBLESCOPE_PORTABLE void total(int /*pass*/, Part sum, State& state) const { state.sum = sum; }
    BUBBLESCOPE_PORTABLE void write(std::int64_t /*row*/, std::int64_t /*i*/, const State& /*state*/) const {}
    BUBBLESCOPE_PORTABLE void finish(std::int64_t /*row*/, const State& state) const {
        *to = digest::finish(state.sum, static_cast<std::uint64_t>(bytes));
    }
};

} // namespace bubblescope::runtime
