#pragma once

#include "runtime/accelerator/kernels/portable.h"

namespace bubblescope::runtime {

// Elementary functions in plain arithmetic, so that loops over them are vectorised; CPU libraries compute them one
// number at a time. Results depend only on the argument.

/// e^x, accurate to 2 units in the last place for x up to 88; 0 below -87.3. NaN stays NaN.
BUBBLESCOPE_PORTABLE inline float elementaryExp(float x) {
#ifdef __CUDA_ARCH__
    return expf(x);
#else
    // x = n·ln 2 + r with |r| <= ln 2 / 2, and a polynomial for e^r (Cephes, Moshier 1989).
    constexpr float kRounder = 12582912.0F; // 1.5·2^23: adding it leaves an integer in the lower bits
    const float below = x > 88.0F ? 88.0F : x;
    const float shifted = below * 1.44269504F + kRounder;
    const float n = shifted - kRounder;
    const float r = (below - n * 0.693359375F) - n * -2.12194440e-4F;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * (r * r) + r + 1.0F;
    const float power = floatOf((bitsOf(shifted) - bitsOf(kRounder) + 127U) << 23U); // 2^n
    return x < -87.33654F ? 0.0F : p * power;
#endif
}

#ifdef __CUDA_ARCH__
/// 1 + tanh x = 2 / (1 + e^(-2x)), without a branch: CUDA's tanhf has a branch, which makes it several times slower.
/// From the errors that PTX specifies for the two instructions, and from rounding, the relative error is at most 2e-6
/// for results above 1e-6, and the absolute error at most 5e-7. For large |x|, the result is 0 or 2. NaN stays NaN.
__device__ inline float fastOnePlusTanh(float x) {
    float power = 0;
    float inverse = 0;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * -2.88539008F)); // -2 / ln 2
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0F + power));
    return 2.0F * inverse;
}
#endif

/// tanh x; NaN stays NaN. On a host, the result is accurate to 5 units in the last place. On a GPU the absolute error
/// is below 1e-6 even for small results, so use it only where the result is added to 1, as in GELU and its derivative.
BUBBLESCOPE_PORTABLE inline float elementaryTanh(float x) {
#ifdef __CUDA_ARCH__
    return fastOnePlusTanh(x) - 1.0F;
#else
    // An odd polynomial over an even one; from 7.9 on, the result is 1 (coefficients as in Eigen's ptanh).
    const float below = x > 7.90531110763549805F ? 7.90531110763549805F : x;
    const float inside = below < -7.90531110763549805F ? -7.90531110763549805F : below;
    const float square = inside * inside;
    float p = -2.76076847742355e-16F;
    p = p * square + 2.00018790482477e-13F;
    p = p * square + -8.60467152213735e-11F;
    p = p * square + 5.12229709037114e-08F;
    p = p * square + 1.48572235717979e-05F;
    p = p * square + 6.37261928875436e-04F;
    p = p * square + 4.89352455891786e-03F;
    float q = 1.19825839466702e-06F;
    q = q * square + 1.18534705686654e-04F;
    q = q * square + 2.26843463243900e-03F;
    q = q * square + 4.89352518554385e-03F;
    return inside * p / q;
#endif
}

/// 1 + tanh x. A host adds the two numbers; on a GPU, the relative error is below 2e-6 for results above 1e-6.
BUBBLESCOPE_PORTABLE inline float onePlusTanh(float x) {
#ifdef __CUDA_ARCH__
    return fastOnePlusTanh(x);
#else
    return 1.0F + elementaryTanh(x);
#endif
}

} // namespace bubblescope::runtime
