#pragma once

#include "core/trace/trace.h"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

// The owners of a trace's tracks (devices), and display names of devices and streams.
namespace bubblescope {

/// A device in a file. Profilers put the rows of a device under one process.
struct DeviceKey {
    std::int64_t used_by = 0; ///< process number in GpuWork
    std::int64_t pid = 0;     ///< process number of the rows
    StringId name = 0;        ///< process name of the rows
    std::string_view called;  ///< device name from the lane of the rows, which may then belong to several processes

    auto operator<=>(const DeviceKey&) const = default;
};

/// The device that owns a track with device work.
[[nodiscard]] DeviceKey deviceOf(const Trace& trace, TrackId track);
/// Display name, such as "GPU 0".
[[nodiscard]] std::string deviceName(const Trace& trace, const DeviceKey& key);

/// The name of a thread or stream. If the thread has no name, returns `what` followed by its number.
[[nodiscard]] std::string threadName(const Trace& trace, const Track& track, std::string_view what);

/// The original row in the file. Overlapping slices were moved to separate rows.
[[nodiscard]] TrackId originalTrack(const Trace& trace, TrackId track);

} // namespace bubblescope
