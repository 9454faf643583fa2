#pragma once

#include <cstddef>
#include <cstdint>

/// The functions by which a test controls the replacement of libcupti.so; it exports them in addition to CUPTI's own.
namespace bubblescope::test::cupti {

/// Specifies how the stand-in delivers buffers of CUPTI records, in ways that CUPTI may use.
struct Delivery {
    std::size_t records = 0;   ///< number of records per buffer; 0 = as many as fit
    std::uint32_t lost_of = 0; ///< drops and counts every n-th buffer; 0 = none
    bool out_of_order = false; ///< delivers the newest buffer first, and the oldest only at the next flush
};

/// An executed kernel, with times on the clock of the device.
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

/// Device memory that the job allocates or releases now.
struct MemoryChange {
    bool is_release = false;
    std::uint32_t device = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

// Types of the exported functions:
using DeliverFunction = void (*)(const Delivery*);            ///< standInDeliver
using CallFunction = std::uint32_t (*)(std::uint32_t number); ///< standInCall: from this thread; its correlation
using RanFunction = void (*)(const Ran*);                     ///< standInRan
using MemoryFunction = void (*)(const MemoryChange*);         ///< standInMemory
using RefuseFunction = void (*)(int code);                    ///< standInRefuse: subscriptions, with this error
using IdleFunction = void (*)(std::int64_t device_time);      ///< standInIdle: sets the time of the device's clock

} // namespace bubblescope::test::cupti
