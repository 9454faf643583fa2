#pragma once

#include "core/base/time.h"

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

/// Asks the system to wake the calling thread from sleeps as punctually as it can.
void usePunctualSleep();

} // namespace bubblescope::runtime
