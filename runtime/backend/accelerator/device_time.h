#pragma once

#include "runtime/accelerator/accelerator.h"
#include "runtime/clock/host_clock.h"

#include <mutex>

namespace bubblescope::runtime {

/// Converts a device's events to host time, for all ranks on one device. Events only give the time between two of them.
/// So a reference event is recorded on an idle stream between two readings of the host's clock; of several tries the
/// one with the closest readings counts. This is repeated for every step, so that neither clock drift nor the coarse
/// resolution of long distances matters. All ranks use the same reference event, so that its error (some microseconds)
/// is the same for all of them.
class DeviceTime {
public:
    DeviceTime(Accelerator& device, HostClock& clock);
    DeviceTime(const DeviceTime&) = delete;
    DeviceTime& operator=(const DeviceTime&) = delete;
    ~DeviceTime();

    /// Makes a new reference unless there is one for this step. All ranks pass the same ascending step numbers, while
    /// no rank has work queued.
    void tie(std::int64_t step);

    /// The host time of an event that was reached after the reference was made. Thread-safe between calls of tie().
    [[nodiscard]] TimeNs of(Accelerator::Event event) const;

private:
    Accelerator& device_;
    HostClock& clock_;
    std::mutex mutex_;
    Accelerator::Stream stream_;
    Accelerator::Event tied_;
    Accelerator::Event tried_;
    std::int64_t step_ = -1;
    TimeNs host_{0};
};

} // namespace bubblescope::runtime
