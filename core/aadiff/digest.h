#pragma once

#include "core/base/hash.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

// The 64-bit digest that checks and comparisons of runs use. It is part of the file format and the C interface, so it
// must never change. nvcc compiles it too: it is therefore limited to C++17 and to headers that nvcc compiles.

/// A buffer of n bytes is read as little-endian 64-bit words w_0, w_1, …, the last padded with zeros. With
///
///     mix(x):  x ^= x >> 30;  x *= 0xBF58476D1CE4E5B9;  x ^= x >> 27;  x *= 0x94D049BB133111EB;  x ^= x >> 31
///     term(i): mix(w_i + (i + 1) · 0x9E3779B97F4A7C15)
///
/// (mix is the finaliser of SplitMix64, a bijection) the digest is
///
///     mix(sum of all terms + (n + 1) · 0x9E3779B97F4A7C15)        all mod 2^64
///
/// The sum may be computed in any order and by any number of threads, each adding the terms of some words. The type of
/// the elements does not matter: equal digests mean equal bits, −0 and +0 differ, and NaNs compare by their bits.
///
/// Any change within one word is detected, since different words have different terms at the same index. Changes in
/// several words are missed if their terms cancel out: 1 in 2^64 (1.8e19) if mix is random. The digest guards against
/// faulty hardware; it does not protect against deliberate manipulation.
namespace bubblescope::digest {

inline constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL; ///< 2^64 divided by the golden ratio

BUBBLESCOPE_HASH constexpr std::uint64_t mix(std::uint64_t x) {
    return mix64(x);
}

/// The term of word number `index`.
BUBBLESCOPE_HASH constexpr std::uint64_t term(std::uint64_t index, std::uint64_t word) {
    return mix(word + (index + 1) * kOdd);
}

/// The digest of `bytes` bytes with terms that add up to `sum`.
BUBBLESCOPE_HASH constexpr std::uint64_t finish(std::uint64_t sum, std::uint64_t bytes) {
    return mix(sum + (bytes + 1) * kOdd);
}

/// The sum over `bytes` bytes at `data` (any alignment), whose first word has index `first_word` in its buffer. Only
/// the end of a buffer may lie inside a word.
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

/// The digest of a whole buffer in host memory.
[[nodiscard]] inline std::uint64_t of(const void* data, std::size_t bytes) {
    return finish(sum(data, bytes), bytes);
}

} // namespace bubblescope::digest

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "digests are defined over little-endian words, as all machines that training runs on have them"
#endif
