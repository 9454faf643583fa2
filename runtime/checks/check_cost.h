#pragma once

#include "core/base/time.h"

#include <cstdint>

namespace bubblescope::runtime {

/// Chooses the steps of a rank that carry work which makes its ops longer, so that on average this takes no more than a
/// share of the time. Work is done in the first steps, which shows what it takes, and then in every step whose number
/// is a multiple of a power of two: steps of ranks and of runs that are rarer are among those that are more frequent.
/// For the rank's thread.
class CheckCost {
public:
    static constexpr int kTried = 4; ///< steps in which the work is always done; the first one warms up
    static constexpr int kLongestInterval = 1024;

    /// `share` of 1 or more: in every step.
    explicit CheckCost(double share) : share_(share) {}

    void beginStep(int step, TimeNs begin) {
        if (step == step_ + 1) note(begin - began_);
        step_ = step;
        began_ = begin;
        spent_ = TimeNs{0};
        done_ = step < kTried || step % interval_ == 0;
    }
    /// Whether the current step carries the work.
    [[nodiscard]] bool done() const { return done_; }
    /// The work has taken so much of an op of the current step.
    void spend(TimeNs time) { spent_ += time; }
    /// Number of steps of which one carries the work.
    [[nodiscard]] int interval() const { return interval_; }

private:
    void note(TimeNs took) {
        step_time_ = step_time_ == TimeNs{0} ? took : (kOld * step_time_ + took) / (kOld + 1);
        if (!done_ || step_ == 0) return;
        cost_ = spent_ > cost_ ? spent_ : (kOld * cost_ + spent_) / (kOld + 1);
        if (share_ >= 1) return;
        const double allowed = share_ / kOthers * static_cast<double>(step_time_.count());
        const auto of_one = static_cast<double>(cost_.count());
        interval_ = 1;
        while (of_one > allowed * interval_ && interval_ < kLongestInterval)
            interval_ *= 2;
    }

    /// How many times as much a step is longer than one rank's ops are at most: ranks wait for one another in turn, and
    /// caches lose what the ops need.
    static constexpr double kOthers = 4;
    static constexpr std::int64_t kOld = 7; ///< parts of an average that earlier values make
    double share_;
    int step_ = -2; ///< before the first step, which follows none
    TimeNs began_{0};
    bool done_ = true;
    TimeNs spent_{0};
    TimeNs cost_{0};
    TimeNs step_time_{0};
    int interval_ = 1;
};

} // namespace bubblescope::runtime
