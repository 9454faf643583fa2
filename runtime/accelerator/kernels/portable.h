#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

// Code for GPUs and the host. These headers are also compiled by nvcc, so they use only C++17 and include only each
// other and C++17 headers.

#ifdef __CUDACC__
#define BUBBLESCOPE_PORTABLE __host__ __device__
#else
#define BUBBLESCOPE_PORTABLE
#endif

namespace bubblescope::runtime {

/// bfloat16: the upper half of a float. Rounds to nearest, ties to even, as GPUs do; NaN stays NaN.
struct Bf16 {
    std::uint16_t bits;
};

BUBBLESCOPE_PORTABLE inline std::uint32_t bitsOf(float x) {
    std::uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

BUBBLESCOPE_PORTABLE inline float floatOf(std::uint32_t bits) {
    float x = 0;
    memcpy(&x, &bits, sizeof x);
    return x;
}

BUBBLESCOPE_PORTABLE inline float load(float x) {
    return x;
}

BUBBLESCOPE_PORTABLE inline float load(Bf16 x) {
    return floatOf(static_cast<std::uint32_t>(x.bits) << 16U);
}

BUBBLESCOPE_PORTABLE inline void store(float& to, float x) {
    to = x;
}

BUBBLESCOPE_PORTABLE inline void store(Bf16& to, float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint32_t pair = 0; // converting one number alone takes several times as long
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0F), "f"(x));
    to.bits = static_cast<std::uint16_t>(pair); // same result as below, except for the other bits of NaN
#else
    std::uint32_t bits = bitsOf(x);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
        bits |= 0x00400000U; // makes the NaN quiet: rounding must not turn it into infinity
    } else {
        bits += 0x7FFFU + ((bits >> 16U) & 1U);
    }
    to.bits = static_cast<std::uint16_t>(bits >> 16U);
#endif
}

/// Adds to an integer that other threads also add to. The sum does not depend on the order of the additions.
BUBBLESCOPE_PORTABLE inline void addAtomically(std::uint64_t* to, std::uint64_t value) {
#ifdef __CUDA_ARCH__
    static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t), "atomicAdd() takes this type");
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
#else
    __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
#endif
}

} // namespace bubblescope::runtime
