#include "runtime/clock/host_clock.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <thread>

namespace bubblescope::runtime {

TimeNs MonotonicClock::now() const {
    return std::chrono::duration_cast<TimeNs>(std::chrono::steady_clock::now().time_since_epoch());
}

void MonotonicClock::sleepUntil(TimeNs time) {
    std::this_thread::sleep_until(std::chrono::steady_clock::time_point(time));
}

std::string systemClockName() {
    std::string name;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> name;
    if (!name.empty()) return name;
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return host.data();
}

void usePunctualSleep() {
    // By default the kernel delays every sleep by up to 50 us to batch wake-ups. If the call fails, sleeps are as late
    // as before.
    constexpr unsigned long kOneNanosecond = 1;
    ::prctl(PR_SET_TIMERSLACK, kOneNanosecond, 0UL, 0UL, 0UL);
}

} // namespace bubblescope::runtime
