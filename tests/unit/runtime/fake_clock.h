#pragma once

#include "runtime/clock/host_clock.h"

#include <atomic>

namespace bubblescope::runtime::test {

/// A host whose time advances only when a thread sleeps or when the test sets it. Thread-safe.
class FakeClock final : public HostClock {
public:
    /// Every sleep ends late by `overshoot`.
    explicit FakeClock(TimeNs overshoot = TimeNs{0}) : overshoot_(overshoot) {}

    [[nodiscard]] TimeNs now() const override { return TimeNs{now_.load()}; }

    void sleepUntil(TimeNs time) override {
        ++sleeps_;
        reach(time + overshoot_);
    }

    /// Sets the time, which never decreases.
    void reach(TimeNs time) {
        std::int64_t now = now_.load();
        while (now < time.count() && !now_.compare_exchange_weak(now, time.count())) {
        }
    }
    void advance(TimeNs time) { now_.fetch_add(time.count()); }

    [[nodiscard]] int sleeps() const { return sleeps_; }

private:
    TimeNs overshoot_;
    std::atomic<std::int64_t> now_{1'000'000};
    std::atomic<int> sleeps_{0};
};

} // namespace bubblescope::runtime::test
