#include "runtime/backend/accelerator/device_time.h"

#include <utility>

namespace bubblescope::runtime {

DeviceTime::DeviceTime(Accelerator& device, HostClock& clock)
    : device_(device), clock_(clock), stream_(device.makeStream()), tied_(device.makeEvent(true)),
      tried_(device.makeEvent(true)) {}

DeviceTime::~DeviceTime() {
    device_.destroy(tied_);
    device_.destroy(tried_);
    device_.destroy(stream_);
}

void DeviceTime::tie(std::int64_t step) {
    constexpr int kTries = 5;
    const std::lock_guard lock(mutex_);
    if (step == step_) return;
    step_ = step;
    TimeNs closest = TimeNs::max();
    for (int i = 0; i < kTries; ++i) {
        const TimeNs before = clock_.now();
        device_.record(tried_, stream_);
        device_.finish(tried_);
        const TimeNs after = clock_.now();
        if (after - before >= closest) continue;
        closest = after - before;
        host_ = before + closest / 2;
        std::swap(tied_, tried_);
    }
}

TimeNs DeviceTime::of(Accelerator::Event event) const {
    return host_ + device_.elapsed(tied_, event);
}

} // namespace bubblescope::runtime
