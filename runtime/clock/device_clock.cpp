#include "runtime/clock/device_clock.h"

#include <algorithm>

namespace bubblescope::runtime {

void DeviceClock::pause(TimeNs time) {
    if (paced()) {
        free_at_ += time;
    } else {
        sleepUntil(host_.now() + time);
    }
}

TimeNs DeviceClock::begin(TimeNs arrival, TimeNs nominal) const {
    const TimeNs ready = std::max(arrival, free_at_);
    return emulates(nominal) ? ready : std::max(ready, host_.now());
}

DeviceClock::End DeviceClock::end(TimeNs begin, TimeNs nominal) {
    const TimeNs now = host_.now();
    End end;
    if (emulates(nominal)) {
        const TimeNs nominal_end = begin + nominal;
        end.moved = now - nominal_end > *tolerance_;
        end.time = end.moved ? now : nominal_end;
    } else {
        end.time = std::max(begin, now);
    }
    free_at_ = end.time;
    return end;
}

TimeNs DeviceClock::hold(TimeNs begin, TimeNs nominal) {
    if (!emulates(nominal)) return TimeNs{0};
    sleepUntil(begin + nominal);
    return std::max(TimeNs{0}, host_.now() - (begin + nominal));
}

void DeviceClock::sleepUntil(TimeNs time) {
    // Long holds are split into pieces so that an abort does not wait for them.
    constexpr TimeNs kPiece{50'000'000};
    for (TimeNs now = host_.now(); now < time && !aborted_.load(std::memory_order_relaxed); now = host_.now())
        host_.sleepUntil(std::min(time, now + kPiece));
}

} // namespace bubblescope::runtime
