#pragma once

#include "core/aadiff/digest.h"
#include "runtime/accelerator/kernels/forms.h"

namespace bubblescope::runtime {

/// Adds the terms of a buffer of any size and alignment to `*to`, from which digest::finish() makes the digest of
/// core/aadiff/digest.h. On the way it copies the buffer, if `copy` is not null: one kernel where a digest, its total
/// and a copy would be three, which follow each other within ops.
struct DigestKernel {
    using Form = RowForm;
    std::uint64_t* to;
    const unsigned char* data;
    std::int64_t bytes;
    unsigned char* copy; ///< as many bytes, or nullptr; aligned to words
    static constexpr std::int64_t kWord = 8;
    static constexpr std::int64_t kBlock =
        1 << 11; ///< words: few, so that a tensor of some MiB has a block of threads for each processor

    struct State {
        std::uint64_t sum;
    };
    using Part = std::uint64_t;
    static constexpr int kPasses = 1;

    BUBBLESCOPE_PORTABLE std::int64_t words() const { return (bytes + kWord - 1) / kWord; }
    BUBBLESCOPE_PORTABLE std::int64_t rows() const { return (words() + kBlock - 1) / kBlock; }
    BUBBLESCOPE_PORTABLE static std::int64_t columns() { return 0; }
    BUBBLESCOPE_PORTABLE std::int64_t terms(std::int64_t row) const {
        const std::int64_t left = words() - row * kBlock;
        return left < kBlock ? left : kBlock;
    }
    BUBBLESCOPE_PORTABLE static Part zero(int /*pass*/) { return 0; }
    BUBBLESCOPE_PORTABLE Part term(int /*pass*/, std::int64_t row, std::int64_t i, const State& /*state*/) const {
        const bool aligned = reinterpret_cast<std::uintptr_t>(data) % kWord == 0;
        const std::int64_t at = row * kBlock + i;
        const std::uint64_t word = this->word(at, aligned);
        if (copy != nullptr) put(at, word);
        return digest::term(static_cast<std::uint64_t>(at), word);
    }
    BUBBLESCOPE_PORTABLE static Part combine(int /*pass*/, Part a, Part b) { return a + b; }
    BUBBLESCOPE_PORTABLE void total(int /*pass*/, Part sum, State& state) const { state.sum = sum; }
    BUBBLESCOPE_PORTABLE void write(std::int64_t /*row*/, std::int64_t /*i*/, const State& /*state*/) const {}
    BUBBLESCOPE_PORTABLE void finish(std::int64_t /*row*/, const State& state) const { addAtomically(to, state.sum); }

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
    BUBBLESCOPE_PORTABLE void put(std::int64_t i, std::uint64_t word) const {
        unsigned char* const at = copy + i * kWord;
        const std::int64_t there = bytes - i * kWord;
        if (there >= kWord) {
            memcpy(__builtin_assume_aligned(at, kWord), &word, kWord);
            return;
        }
        for (std::int64_t byte = 0; byte < there; ++byte)
            at[byte] = static_cast<unsigned char>(word >> static_cast<unsigned>(8 * byte));
    }
};

} // namespace bubblescope::runtime
