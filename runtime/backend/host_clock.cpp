#include "runtime/backend/host_clock.h"

#include <sys/prctl.h>

#include <thread>

namespace bubblescope::runtime {

TimeNs MonotonicClock::now() const {
    return std::chrono::duration_cast<TimeNs>(std::chrono::steady_clock::now().time_since_epoch());
}

void MonotonicClock::sleepUntil(TimeNs time) {
    std::this_thread::sleep_until(std::chrono::steady_clock::time_point(time));
}

void usePunctualSleep() {
    // The default lets the kernel add 50 us to every sleep in order to gather wake-ups. Failure only
    // means that sleeps stay as late as they were.
    constexpr unsigned long kOneNanosecond = 1;
    ::prctl(PR_SET_TIMERSLACK, kOneNanosecond, 0UL, 0UL, 0UL);
}

} // namespace bubblescope::runtime
