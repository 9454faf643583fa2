#pragma once

#include "core/base/median.h"
#include "core/base/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace bubblescope {

/// Interval, in steps, between repetitions of work that costs `cost`: `least` times the smallest power of two for which
/// the mean cost per step is at most `allowed`; the interval is limited to about 1,024.
[[nodiscard]] inline int intervalFor(double cost, double allowed, int least) {
    constexpr int kLongest = 1024;
    int interval = least;
    while (cost > allowed * interval && interval < kLongest)
        interval *= 2;
    return interval;
}

/// Chooses the steps in which a rank does extra work that lengthens its ops, so that the work takes at most a given
/// share of the time on average. Each of the first steps does the work, to measure its cost; after that, only steps
/// whose number is a multiple of a power of two do. Therefore, if a rank or run with a long interval does the work in a
/// step, so do those with a shorter interval. Not thread-safe; the caller supplies all times.
class CheckCost {
public:
    static constexpr int kTried = 4; ///< number of initial steps, each of which does the work; step 0 is a warm-up

    /// With a `share` of 1 or more, every step does the work.
    explicit CheckCost(double share) : share_(share) {}

    void beginStep(int step, TimeNs begin) {
        if (step == step_ + 1) note(begin - began_);
        step_ = step;
        began_ = begin;
        spent_ = TimeNs{0};
        done_ = step < kTried || step % interval_ == 0;
    }
    /// True if the current step does the work.
    [[nodiscard]] bool done() const { return done_; }
    /// Records that the work took `time` within an op of the current step.
    void spend(TimeNs time) { spent_ += time; }
    /// Number of steps from one step that does the work to the next.
    [[nodiscard]] int interval() const { return interval_; }

private:
    void note(TimeNs took) {
        step_time_ = step_time_ == TimeNs{0} ? took : (kOld * step_time_ + took) / (kOld + 1);
        if (!done_ || step_ == 0) return;
        cost_ = spent_ > cost_ ? spent_ : (kOld * cost_ + spent_) / (kOld + 1);
        if (share_ >= 1) return;
        const double allowed = share_ / kOthers * static_cast<double>(step_time_.count());
        const auto of_one = static_cast<double>(cost_.count());
        interval_ = intervalFor(of_one, allowed, 1);
    }

    /// Assumed maximum ratio of the step's delay to the time added to one rank's ops; it exceeds 1 because ranks wait
    /// for each other in turn and the work evicts the ops' data from caches.
    static constexpr double kOthers = 4;
    static constexpr std::int64_t kOld = 7; ///< weight of earlier values in a moving average
    double share_;
    int step_ = -2; ///< number of the current step; −2 before the first step
    TimeNs began_{0};
    bool done_ = true;
    TimeNs spent_{0};
    TimeNs cost_{0};
    TimeNs step_time_{0};
    int interval_ = 1;
};

/// Chooses the steps of a run in which checks run. Meant for runs in which the host queues work ahead of a device, so
/// that the cost of checks shows only in step times. After the very first step, no step runs checks until bubble
/// lengths are known (see MeasuredPlan). The next steps alternate between running and not running checks. After that,
/// checks run only so often that they increase the mean step time by at most a given share. At least every other step
/// runs without checks, to measure bubble lengths. Steps with checks have numbers that are multiples of a power of two;
/// see CheckCost. Not thread-safe.
class CheckedSteps {
public:
    static constexpr int kFirst = 8;           ///< number of steps until bubble lengths are known
    static constexpr int kTried = kFirst + 16; ///< number of steps until the cost of checks is known

    /// With a `share` of 1 or more, every step runs checks.
    explicit CheckedSteps(double share) : share_(share), interval_(share >= 1 ? 1 : 2) {}

    [[nodiscard]] bool limits() const { return share_ < 1; }
    void beginStep(int step, TimeNs begin) {
        // The first step is a warm-up, so its time is ignored.
        if (limits() && step == step_ + 1 && step_ > 0) note(begin - began_);
        step_ = step;
        began_ = begin;
        done_ = isDue(step);
    }
    /// True if the current step runs checks.
    [[nodiscard]] bool done() const { return done_; }
    /// True if `step`, which may be in the future, is due to run checks.
    [[nodiscard]] bool isDue(int step) const {
        return !limits() || step == 0 || (step >= kFirst && step % interval_ == 0);
    }
    /// True if the interval is based on the measured cost of checks.
    [[nodiscard]] bool tried() const { return !limits() || step_ >= kTried; }
    [[nodiscard]] int interval() const { return interval_; }

private:
    void note(TimeNs took) {
        std::deque<TimeNs>& last = took_[done_ ? 1 : 0];
        last.push_back(took);
        if (last.size() > kLast) last.pop_front();
        if (step_ + 1 < kTried || took_[0].empty() || took_[1].empty()) return;
        const double without = usual(took_[0]);
        const double allowed = share_ * without;
        const double more = usual(took_[1]) - without;
        interval_ = intervalFor(more, allowed, 2);
    }
    /// Uses the median rather than the mean, because a step delayed by something else reveals nothing about checks.
    static double usual(const std::deque<TimeNs>& times) {
        return static_cast<double>(median({times.begin(), times.end()}).count());
    }

    static constexpr std::size_t kLast = 9;
    double share_;
    int interval_;
    int step_ = -2; ///< number of the current step; −2 before the first step
    TimeNs began_{0};
    bool done_ = true;
    std::array<std::deque<TimeNs>, 2> took_; ///< durations of recent steps without checks, and with checks
};

} // namespace bubblescope
