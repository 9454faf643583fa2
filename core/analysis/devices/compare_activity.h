#pragma once

#include "core/analysis/devices/device_summary.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bubblescope {

enum class ActivityPart : std::uint8_t { Time, Compute, ExposedCommunication, HiddenCommunication, Copies, Idle };

/// A part of the typical step's or a device's time, in two traces without a pipeline.
struct ActivityChange {
    bool of_step = false; ///< true for the typical step of all files, false for a device
    std::int64_t rank = 0;
    std::string device;
    ActivityPart part = ActivityPart::Time;
    TimeNs a{0};
    TimeNs b{0};
    double share_a = 0; ///< fraction of the total time, because recordings differ in length
    double share_b = 0;
};

/// Compares the typical steps, if both traces mark steps, and then the devices. Devices are matched by rank and name
/// or, failing that, by their position in the order. A device that is missing from one trace is omitted.
[[nodiscard]] std::vector<ActivityChange> compareActivity(const std::vector<FileActivity>& a,
                                                          const std::vector<FileActivity>& b);

} // namespace bubblescope
