#pragma once

#include "core/base/time.h"
#include "profiler/events/device_work.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bubblescope::profiler::cupti {

/// A CUPTI activity record, reduced to the fields that are used here. Decoded times are CUPTI's: nanoseconds of
/// CLOCK_REALTIME, or of the clock set with Api::useClock(). Times from a Collector are CLOCK_MONOTONIC. See
/// isMoment() for activities without an end.
struct Activity : DeviceWork {
    enum class Kind : std::uint8_t {
        Kernel,
        Copy,
        Set,
        Graph, ///< launch of a CUDA graph that is recorded as one activity
        Driver,
        Runtime,
        Synchronization,
        Overhead,
        Marker,     ///< an NVTX marker that CUPTI recorded
        MarkerData, ///< the marker's category and payload
        Allocation, ///< of memory, at `start`
        Release,    ///< of memory, at `start`
        External,   ///< links calls to the id that the program pushed before making them
        Device,
        Name, ///< name of a thread, stream …
    };

    Kind kind = Kind::Kernel;
    std::uint32_t process = 0; ///< process id, for calls, markers and thread names
    std::uint32_t thread = 0;  ///< thread id, where `process` is set
    /// Callback id of a call; kind of a copy, synchronisation, overhead, memory or external id; flags of a marker; …
    std::uint32_t what = 0;
    std::uint32_t peer = 0;              ///< target device of a copy between devices
    std::uint64_t id = 0;                ///< id of a marker, address of memory, or the external id
    const char* name = nullptr;          ///< name of a kernel, marker, device or named object; valid as long as CUPTI's
                                         ///< buffer exists
    std::array<std::uint8_t, 16> uuid{}; ///< for a device

    /// True if CUPTI lost the times of this activity.
    [[nodiscard]] bool isUntimed() const { return hasTimes() && start == TimeNs{0} && end == TimeNs{0}; }
    /// True if activities of this kind have a start and an end.
    [[nodiscard]] bool hasTimes() const { return kind <= Kind::Overhead; }
    /// True if activities of this kind have only a start.
    [[nodiscard]] bool isMoment() const {
        return kind == Kind::Marker || kind == Kind::Allocation || kind == Kind::Release;
    }
    /// True for memory that a device holds for this process, excluding managed memory, which moves, and memory of
    /// another process's pool.
    [[nodiscard]] bool isDeviceMemory() const {
        constexpr std::uint32_t kDevice = 3;
        constexpr std::uint32_t kArray = 4;
        constexpr std::uint32_t kStatic = 6;
        return what == kDevice || what == kArray || what == kStatic;
    }
};

/// An activity that does not refer to CUPTI's buffer.
struct OwnedActivity {
    Activity activity; ///< the activity without its name, which is in `name`
    std::string name;
    std::uint64_t external = 0; ///< external id of the call that started the activity; 0 = none
};

enum class DecodeStatus : std::uint8_t {
    Decoded,
    OtherKind, ///< a kind that the profiler does not use
    Damaged,   ///< fewer bytes than the kind requires
};

/// Decodes the record at the start of `bytes`, which extend to the end of its buffer. Reads nothing outside `bytes` and
/// follows no pointers in them, regardless of the content. CUPTI only appends fields to its records, so the fields that
/// all versions since CUDA 8 share are always read (for kernels: since ActivityKernel3). Later fields are read only if
/// the library that wrote the buffer has them; `version` is that library's cuptiGetVersion().
[[nodiscard]] DecodeStatus decodeActivity(std::span<const std::byte> bytes, std::uint32_t version, Activity& out);

/// Kinds by CUPTI's numbers.
namespace kind {
inline constexpr std::uint32_t kMemcpy = 1;
inline constexpr std::uint32_t kMemset = 2;
inline constexpr std::uint32_t kKernel = 3;
inline constexpr std::uint32_t kDriver = 4;
inline constexpr std::uint32_t kRuntime = 5;
inline constexpr std::uint32_t kDevice = 8;
inline constexpr std::uint32_t kConcurrentKernel = 10;
inline constexpr std::uint32_t kName = 11;
inline constexpr std::uint32_t kMarker = 12;
inline constexpr std::uint32_t kMarkerData = 13;
inline constexpr std::uint32_t kOverhead = 17;
inline constexpr std::uint32_t kMemcpyPeer = 22;
inline constexpr std::uint32_t kSynchronization = 38;
inline constexpr std::uint32_t kExternalCorrelation = 39;
inline constexpr std::uint32_t kMemory = 49; ///< CUPTI_ACTIVITY_KIND_MEMORY2, since CUDA 11.2
inline constexpr std::uint32_t kGraphTrace = 51;
} // namespace kind

/// Kind of the external ids that our own ranks push, and that PyTorch's profiler pushes for its operators
/// (CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0). Other kinds belong to other tools, such as OpenACC's runtime.
inline constexpr std::uint32_t kCustomIds = 3;

} // namespace bubblescope::profiler::cupti
