#pragma once

#include <cstddef>
#include <cstdint>

/// The functions by which a test controls the replacement of libcupti.so; it exports them in addition to CUPTI's own.
namespace bubblescope::test::cupti {

/// How it delivers buffers. The records are those of CUPTI; what happens to them is what CUPTI may do to them.
struct Delivery {
    std::size_t records = 0;   ///< in a buffer, which is then full; 0 = as many as fit
    std::uint32_t lost_of = 0; ///< every n-th buffer is dropped and counted; 0 = none
    bool out_of_order = false; ///< the newest buffer first, and the oldest one only at the next flush
};

/// The kernels that ran, in times of the device's own clock.
struct Ran {
    std::uint32_t kind = 0; ///< kConcurrentKernel, kMemcpy or kMemset
    const char* name = nullptr;
    std::uint64_t bytes = 0;
    std::uint32_t correlation = 0;
    std::uint32_t graph = 0;
    void* stream = nullptr;
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

// Exported with these names.
using DeliverFunction = void (*)(const Delivery*);            ///< standInDeliver
using CallFunction = std::uint32_t (*)(std::uint32_t number); ///< standInCall: by this thread; its correlation
using RanFunction = void (*)(const Ran*);                     ///< standInRan
using IdleFunction = void (*)(std::int64_t device_time);      ///< standInIdle: the device's clock shows this now

} // namespace bubblescope::test::cupti
