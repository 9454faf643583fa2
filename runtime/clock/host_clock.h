#pragma once

#include "core/base/time.h"

#include <string>

namespace bubblescope::runtime {

/// The clock of the host, as used by ranks; tests replace it. Thread-safe.
class HostClock {
public:
    virtual ~HostClock() = default;
    [[nodiscard]] virtual TimeNs now() const = 0;
    /// Returns at `time` or, often, slightly later.
    virtual void sleepUntil(TimeNs time) = 0;
};

/// CLOCK_MONOTONIC.
class MonotonicClock final : public HostClock {
public:
    [[nodiscard]] TimeNs now() const override;
    void sleepUntil(TimeNs time) override;
};

/// A name shared by all processes on a machine until the machine restarts. This is also the scope of CLOCK_MONOTONIC,
/// so clocks with the same name show the same time.
[[nodiscard]] std::string systemClockName();

/// Makes the system wake the calling thread from sleeps as punctually as possible.
void usePunctualSleep();

} // namespace bubblescope::runtime
