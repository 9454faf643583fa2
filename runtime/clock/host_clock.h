#pragma once

#include "core/base/time.h"

#include <string>

namespace bubblescope::runtime {

/// The host's time as ranks see it; tests replace it. Thread-safe.
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

/// A name that all processes on a machine share until it restarts, which is the scope of CLOCK_MONOTONIC: clocks of
/// equal names show the same time.
[[nodiscard]] std::string systemClockName();

/// Requests that the system wakes the calling thread from sleeps as punctually as possible.
void usePunctualSleep();

} // namespace bubblescope::runtime
