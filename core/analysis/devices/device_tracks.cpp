#include "core/analysis/devices/device_tracks.h"

#include "core/base/text.h"
#include "core/recognise/gpu_work.h"
#include "core/trace/processes.h"

#include <fmt/format.h>

namespace bubblescope {

DeviceKey deviceOf(const Trace& trace, TrackId id) {
    const Track& track = trace.tracks()[id];
    const std::int64_t used_by = GpuWork::processOf(trace, track);
    if (const std::string_view called = trace.lanes().deviceOf(id); !called.empty()) return {used_by, 0, 0, called};
    return {used_by, track.pid, track.process_name, {}};
}

std::string deviceName(const Trace& trace, const DeviceKey& key) {
    if (!key.called.empty()) return std::string(key.called);
    const std::string_view process = trace.text(key.name);
    // Kineto names a device's rows after the process that used it, and numbers them by device.
    if (process.starts_with("GPU ")) return std::string(process);
    // A tool that merged files put a label before the number: "[TP00-PP01] 1".
    const auto number = key.pid == 0 && labelOfProcess(process)
                            ? wholeNumber(process.substr(process.find_last_not_of("0123456789") + 1))
                            : std::nullopt;
    return fmt::format("GPU {}", number ? std::int64_t{*number} : key.pid);
}

std::string threadName(const Trace& trace, const Track& track, std::string_view what) {
    const std::string_view name = trimmed(trace.text(track.thread_name)); // Kineto pads names
    return name.empty() || name == std::to_string(track.tid) ? fmt::format("{} {}", what, track.tid)
                                                             : std::string(name);
}

TrackId originalTrack(const Trace& trace, TrackId track) {
    const TrackId from = trace.tracks()[track].spilled_from;
    return from == kNoId ? track : from;
}

} // namespace bubblescope
