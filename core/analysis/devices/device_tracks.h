#pragma once

#include "core/trace/trace.h"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

// The owners of a trace's tracks: the devices, and the names of devices and streams for display.
namespace bubblescope {

/// A device of a file. Profilers put its rows below one process.
struct DeviceKey {
    std::int64_t used_by = 0; ///< the process, as GpuWork numbers it
    std::int64_t pid = 0;     ///< process number of the rows
    StringId name = 0;        ///< process name of the rows
    std::string_view called;  ///< by the rows' lane; the rows may then belong to several processes

    auto operator<=>(const DeviceKey&) const = default;
};

/// The device of a track with device work.
[[nodiscard]] DeviceKey deviceOf(const Trace& trace, TrackId track);
/// "GPU 0".
[[nodiscard]] std::string deviceName(const Trace& trace, const DeviceKey& key);

/// A thread's or stream's name; if it has none, `what` and its number.
[[nodiscard]] std::string threadName(const Trace& trace, const Track& track, std::string_view what);

/// The row of the file that a track comes from; overlapping slices were moved to separate rows.
[[nodiscard]] TrackId originalTrack(const Trace& trace, TrackId track);

} // namespace bubblescope
