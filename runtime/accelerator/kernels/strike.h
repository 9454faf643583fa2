#pragma once

#include "runtime/accelerator/kernels/forms.h"
#include "runtime/accelerator/kernels/number_hash.h"

namespace bubblescope::runtime {

// Injected faults in device memory.

/// Flips one bit of one number; bit 0 is the lowest.
template <class T>
struct FlipKernel {
    using Form = EachForm;
    T* value;
    unsigned bit;

    [[nodiscard]] std::int64_t count() const { return 1; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t /*i*/) const {
        unsigned char* const at = reinterpret_cast<unsigned char*>(value) + bit / 8;
        *at = static_cast<unsigned char>(*at ^ (1U << (bit % 8)));
    }
};

/// Flips the lowest bit of about half of the numbers, as another order of additions would.
template <class T>
struct DisturbKernel {
    using Form = EachForm;
    T* values;
    std::int64_t size;
    std::uint64_t chance;

    [[nodiscard]] std::int64_t count() const { return size; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const {
        if ((mixBits(chance + static_cast<std::uint64_t>(i)) & 1U) == 0) return;
        unsigned char* const at = reinterpret_cast<unsigned char*>(values + i);
        *at = static_cast<unsigned char>(*at ^ 1U);
    }
};

} // namespace bubblescope::runtime
