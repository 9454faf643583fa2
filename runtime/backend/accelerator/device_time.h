#pragma once

#include "runtime/accelerator/accelerator.h"
#include "runtime/clock/host_clock.h"

#include <mutex>

namespace bubblescope::runtime {

/// The host's time of a device's events, for all ranks on one device. Events only tell how far apart they are, so one
/// of them is tied to the host's clock: recorded on an idle stream and waited for, it lies between two looks at the
/// clock, of some tries those that are closest. That is repeated for every step, so that neither a drift between the
/// clocks nor the coarse numbers of long distances matter, and the same event serves all ranks, so that what the tie
/// is off by (some microseconds) is the same for all of them.
class DeviceTime {
public:
    DeviceTime(Accelerator& device, HostClock& clock);
    DeviceTime(const DeviceTime&) = delete;
    DeviceTime& operator=(const DeviceTime&) = delete;
    ~DeviceTime();

    /// Ties anew if nobody has for this step yet. All ranks say the same numbers in ascending order, while none has
    /// work queued.
    void tie(std::int64_t step);

    /// Of an event that was reached since the tie. Thread-safe between ties.
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
