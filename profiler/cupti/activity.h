#pragma once

#include "core/base/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bubblescope::profiler::cupti {

/// One of CUPTI's activity records, with the fields that are used here. Times are CUPTI's: nanoseconds of
/// CLOCK_REALTIME.
struct Activity {
    enum class Kind : std::uint8_t {
        Kernel,
        Copy,
        Set,
        Graph, ///< launch of a CUDA graph that is recorded as a whole
        Driver,
        Runtime,
        Synchronization,
        Overhead,
        Marker,     ///< of NVTX, when CUPTI records it
        MarkerData, ///< the marker's category and payload
        External,   ///< ties an id that a program pushed to the calls it encloses
        Device,
        Name, ///< of a thread, stream …
    };

    Kind kind = Kind::Kernel;
    TimeNs start{0}; ///< of a marker its only time
    TimeNs end{0};
    std::uint32_t device = 0;
    std::uint32_t context = 0;
    std::uint32_t stream = 0;
    std::uint32_t correlation = 0;
    std::uint32_t process = 0;  ///< calls; markers and names of threads
    std::uint32_t thread = 0;   ///< likewise
    std::uint32_t what = 0;     ///< cbid of a call, kind of copy, synchronisation or overhead, flags of a marker, …
    std::uint32_t graph = 0;    ///< id of a kernel's or launch's graph; 0 for none
    std::uint32_t peer = 0;     ///< device that a copy between devices goes to
    std::uint64_t bytes = 0;    ///< copies and sets
    std::uint64_t id = 0;       ///< a marker's, or the external id
    const char* name = nullptr; ///< kernels, markers, devices, names: CUPTI's, valid while its buffer is
    std::array<std::int32_t, 3> grid{};
    std::array<std::int32_t, 3> block{};
    std::array<std::uint8_t, 16> uuid{}; ///< of a device

    /// CUPTI lost the times of this one: it ran, but nobody knows when.
    [[nodiscard]] bool isUntimed() const { return hasTimes() && start == TimeNs{0} && end == TimeNs{0}; }
    /// Kinds that lie on a timeline with a begin and an end.
    [[nodiscard]] bool hasTimes() const { return kind <= Kind::Overhead; }
};

/// An activity that no longer needs CUPTI's buffer.
struct OwnedActivity {
    Activity activity; ///< its name is null: see `name`
    std::string name;
    std::uint64_t external = 0; ///< id that a program gave to the call that started it, 0 for none
};

enum class DecodeStatus : std::uint8_t {
    Decoded,
    OtherKind, ///< a record that is of no use here
    Damaged,   ///< fewer bytes than the kind must have
};

/// Decodes the record at the begin of `bytes`, which reach to the end of its buffer. Whatever they are, nothing outside
/// of them is read, and no pointer among them is followed. CUPTI grows records at their ends, so the part that all
/// versions from CUDA 8 on have in common is read: of kernels that since ActivityKernel3, and what later ones add only
/// if the buffer's library has it (`version`, of cuptiGetVersion()).
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
inline constexpr std::uint32_t kGraphTrace = 51;
} // namespace kind

} // namespace bubblescope::profiler::cupti
