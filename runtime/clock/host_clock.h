#pragma once

#include "core/base/time.h"

#include <string>

namespace bubblescope::runtime {

/// The host's time as ranks see it; tests put their own in its place. Thread-safe.
class HostClock {
public:
    virtual ~HostClock() = default;
    [[nodiscard]] virtual TimeNs now() const = 0;
    /// Returns when `time` has passed, often a little later.
    virtual void sleepUntil(TimeNs time) = 0;
};

/// CLOCK_MONOTONIC.
class MonotonicClock final : public HostClock {
public:
    [[nodiscard]] TimeNs now() const override;
    void sleepUntil(TimeNs time) override;
};

/// A name that all processes of a machine share between two of its starts, which is how far CLOCK_MONOTONIC goes:
/// clocks of equal names show the same time.
[[nodiscard]] std::string systemClockName();

/// Asks the system to wake the calling thread from sleeps as punctually as it can.
void usePunctualSleep();

} // namespace bubblescope::runtime
