#pragma once

#include "core/base/hash.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

// The 64-bit digest used by checks and run comparisons. It is part of the file format and the C interface, so it must
// never change. It is also compiled by nvcc and therefore limited to C++17.

/// Reads a buffer of n bytes as little-endian 64-bit words w_0, w_1, …, the last one padded with zeros. With
///
///     mix(x):  x ^= x >> 30;  x *= 0xBF58476D1CE4E5B9;  x ^= x >> 27;  x *= 0x94D049BB133111EB;  x ^= x >> 31
///     term(i): mix(w_i + (i + 1) · 0x9E3779B97F4A7C15)
///
/// (mix is the finaliser of SplitMix64, a bijection), the digest is
///
///     mix(sum of all terms + (n + 1) · 0x9E3779B97F4A7C15)        all mod 2^64
///
/// The terms may be added in any order, even by several threads that each sum up some of them. The type of the elements
/// is irrelevant: equal digests mean equal bits, −0 and +0 differ, and NaNs are compared by their bits.
///
/// Every change within a single word is detected, since different words yield different terms at the same index.
/// Changes in several words are missed only if the changes of their terms cancel out, which has a probability of 1 in
/// 2^64 if mix is random. The digest protects against faulty hardware, but not against deliberate manipulation.
namespace bubblescope::digest {

inline constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL; ///< 2^64 divided by the golden ratio

BUBBLESCOPE_HASH constexpr std::uint64_t mix(std::uint64_t x) {
    return mix64(x);
}

/// The term of word number `index`.
BUBBLESCOPE_HASH constexpr std::uint64_t term(std::uint64_t index, std::uint64_t word) {
    return mix(word + (index + 1) * kOdd);
}

/// Digest of a buffer of `bytes` bytes whose terms add up to `sum`.
BUBBLESCOPE_HASH constexpr std::uint64_t finish(std::uint64_t sum, std::uint64_t bytes) {
    return mix(sum + (bytes + 1) * kOdd);
}

/// Sums the terms of `bytes` bytes at `data` (any alignment), whose first word has index `first_word` in its buffer.
/// Only the last part of a buffer may end inside a word.
inline std::uint64_t sum(const void* data, std::size_t bytes, std::uint64_t first_word = 0) {
    const auto* const at = static_cast<const unsigned char*>(data);
    const std::size_t words = bytes / sizeof(std::uint64_t);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < words; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, at + i * sizeof word, sizeof word);
        total += term(first_word + i, word);
    }
    if (const std::size_t rest = bytes % sizeof(std::uint64_t); rest != 0) {
        std::uint64_t word = 0;
        std::memcpy(&word, at + words * sizeof word, rest);
        total += term(first_word + words, word);
    }
    return total;
}

/// The digest of a complete buffer in host memory.
[[nodiscard]] inline std::uint64_t of(const void* data, std::size_t bytes) {
    return finish(sum(data, bytes), bytes);
}

} // namespace bubblescope::digest

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "digests are defined over little-endian words, so the machine must be little-endian"
#endif
