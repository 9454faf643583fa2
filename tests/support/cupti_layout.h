#pragma once

#include <cstddef>
#include <cstdint>

/// Memory layout of the records and structures of CUPTI 13.0, for a stand-in that does not require the toolkit. If the
/// toolkit is installed, cupti_layout.cpp compares the layout with its headers.
namespace bubblescope::test::cupti {

struct KernelRecord {
    std::uint32_t kind;
    std::uint8_t unused0[12];
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t completed;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::int32_t grid[3];
    std::int32_t block[3];
    std::uint8_t unused1[16];
    std::uint32_t correlation;
    std::int64_t grid_id;
    const char* name;
    std::uint8_t unused2[32];
    std::uint64_t graph_node;
    std::uint8_t unused3[4];
    std::uint32_t graph;
    std::uint8_t unused4[56];
};

struct CopyRecord {
    std::uint32_t kind;
    std::uint8_t copy_kind;
    std::uint8_t unused0[3];
    std::uint64_t bytes;
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation;
    std::uint8_t unused1[48];
};

struct SetRecord {
    std::uint32_t kind;
    std::uint32_t value;
    std::uint64_t bytes;
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation;
    std::uint8_t unused1[40];
};

struct CallRecord {
    std::uint32_t kind;
    std::uint32_t number;
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t process;
    std::uint32_t thread;
    std::uint32_t correlation;
    std::uint32_t result;
};

struct MemoryRecord {
    std::uint32_t kind;
    std::uint32_t operation;
    std::uint32_t memory_kind;
    std::uint32_t correlation;
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t time;
    std::uint64_t counter;
    std::uint32_t process;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    const char* name;
    std::uint32_t is_async;
    std::uint32_t unused0;
    std::uint32_t pool_type;
    std::uint8_t unused1[44];
};

struct ExternalRecord {
    std::uint32_t kind;
    std::uint32_t external_kind;
    std::uint64_t id;
    std::uint32_t correlation;
    std::uint32_t unused;
};

struct SubscriberParameters {
    std::size_t struct_size;
    const char* name;
    char* old_name;
    std::size_t old_size;
};

inline constexpr std::uint32_t kMemcpy = 1;
inline constexpr std::uint32_t kMemset = 2;
inline constexpr std::uint32_t kRuntime = 5;
inline constexpr std::uint32_t kConcurrentKernel = 10;
inline constexpr std::uint32_t kExternalCorrelation = 39;
inline constexpr std::uint32_t kMemory2 = 49;
inline constexpr std::uint32_t kAllocation = 1;
inline constexpr std::uint32_t kRelease = 2;
inline constexpr std::uint32_t kDeviceMemory = 3;
inline constexpr int kSuccess = 0;
inline constexpr int kInvalid = 1;
inline constexpr int kMaxLimitReached = 12;
inline constexpr int kQueueEmpty = 18;
inline constexpr int kMultipleSubscribers = 39;
inline constexpr std::uint32_t kGetLastError = 10;
inline constexpr std::uint32_t kLaunchKernel = 211;
inline constexpr std::uint32_t kMemcpyAsync = 41;
inline constexpr std::uint32_t kMemsetAsync = 51;
inline constexpr std::uint32_t kGraphLaunch = 311;
inline constexpr std::uint32_t kVersion = 130001;

} // namespace bubblescope::test::cupti
