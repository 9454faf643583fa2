#include "runtime/device/device_clock.h"

#include <algorithm>

namespace bubblescope::runtime {

TimeNs DeviceClock::begin(TimeNs arrival, TimeNs nominal) const {
    const TimeNs ready = std::max(arrival, free_at_);
    return emulates(nominal) ? ready : std::max(ready, host_.now());
}

DeviceClock::End DeviceClock::end(TimeNs begin, TimeNs nominal) {
    End end;
    if (emulates(nominal)) {
        const TimeNs nominal_end = begin + nominal;
        hold(nominal_end);
        const TimeNs now = host_.now();
        end.lateness = std::max(TimeNs{0}, now - nominal_end);
        end.moved = end.lateness > *tolerance_;
        end.time = end.moved ? now : nominal_end;
    } else {
        end.time = std::max(begin, host_.now());
    }
    free_at_ = end.time;
    return end;
}

void DeviceClock::hold(TimeNs until) {
    // Long holds are cut into pieces so that an abort does not wait for them.
    constexpr TimeNs kPiece{50'000'000};
    for (TimeNs now = host_.now(); now < until && !aborted_.load(std::memory_order_relaxed); now = host_.now())
        host_.sleepUntil(std::min(until, now + kPiece));
}

} // namespace bubblescope::runtime
