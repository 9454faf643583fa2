#pragma once

#include "core/base/time.h"

#include <algorithm>
#include <cstdint>

namespace bubblescope {

/// The op that runs on a rank while pending receives slow it down. With n pending receives, the op runs at
/// 100 - min(n · share, kMostTaken) percent of its speed. Its remaining work is counted in hundredths of a nanosecond
/// at full speed, so no time is rounded until the op ends, at the next nanosecond. Times must not decrease.
class SharedCompute {
public:
    /// At least 1 % is left to the op, so that it ends even if a receive depends on it.
    static constexpr std::int64_t kMostTaken = 99;
    static constexpr std::int64_t kWhole = 100;

    /// `share` is the percentage that each receive takes.
    explicit SharedCompute(int share) : share_(share) {}

    /// Starts an op that takes `duration` at full speed.
    void start(TimeNs now, TimeNs duration) {
        since_ = now;
        work_ = kWhole * duration.count();
    }
    /// Changes the number of pending receives.
    void change(TimeNs now, int by) {
        work_ -= std::min(speed() * (std::min(now, end()) - since_).count(), work_);
        since_ = now;
        pending_ += by;
    }
    /// End of the op that was started last, if no receives begin or end before.
    [[nodiscard]] TimeNs end() const { return since_ + TimeNs{(work_ + speed() - 1) / speed()}; }

private:
    [[nodiscard]] std::int64_t speed() const { return kWhole - std::min(pending_ * share_, kMostTaken); }

    std::int64_t share_;
    std::int64_t pending_ = 0;
    TimeNs since_{0};       ///< time for which `work_` is valid
    std::int64_t work_ = 0; ///< remaining
};

} // namespace bubblescope
