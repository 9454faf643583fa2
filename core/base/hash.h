#pragma once

#include <cstdint>

// Hash functions whose values are stored in files and results, so they must never change. nvcc also compiles this
// header, so it is limited to C++17 and includes no other header of this tree.

#ifdef __CUDACC__
#define BUBBLESCOPE_HASH __host__ __device__
#else
#define BUBBLESCOPE_HASH
#endif

namespace bubblescope {

/// The finaliser of SplitMix64: a bijection that spreads nearby numbers over the entire 64-bit range.
BUBBLESCOPE_HASH constexpr std::uint64_t mix64(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31U);
}

/// FNV-1a: the initial hash value, and the hash value after one more byte.
inline constexpr std::uint64_t kFnvOffset = 0xCBF29CE484222325ULL;
[[nodiscard]] constexpr std::uint64_t fnv1a(std::uint64_t hash, unsigned char byte) {
    return (hash ^ byte) * 0x100000001B3ULL;
}

} // namespace bubblescope
