#pragma once

#include "core/base/median.h"
#include "core/base/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace bubblescope {

/// Of how many steps one may cost this much more, if each may cost `allowed` in the mean: `least` or it doubled, up to
/// 1,024.
[[nodiscard]] inline int intervalFor(double cost, double allowed, int least) {
    constexpr int kLongest = 1024;
    int interval = least;
    while (cost > allowed * interval && interval < kLongest)
        interval *= 2;
    return interval;
}

/// Chooses the steps of a rank that carry work which makes its ops longer, so that on average this takes no more than a
/// share of the time. Work is done in the first steps, which shows what it takes, and then in every step whose number
/// is a multiple of a power of two: steps of ranks and of runs that are rarer are among those that are more frequent.
/// One thread; all times are passed in.
class CheckCost {
public:
    static constexpr int kTried = 4; ///< steps in which the work is always done; the first one warms up

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
        interval_ = intervalFor(of_one, allowed, 1);
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

/// Chooses the steps of a run that are checked where the host queues ahead of a device: what checks cost shows only in
/// whole steps there. The first one is checked, and then none until bubbles are known (see MeasuredPlan). The next ones
/// go with and without checks in turn. Then as few are checked as keep the mean step within a share of what steps
/// without checks take; at least every other step goes without, which shows how long bubbles are. Checked are the steps
/// whose number is a multiple of a power of two: see CheckCost. One thread.
class CheckedSteps {
public:
    static constexpr int kFirst = 8;           ///< steps until bubbles are known
    static constexpr int kTried = kFirst + 16; ///< steps until it is known what checks cost

    /// `share` of 1 or more: every step.
    explicit CheckedSteps(double share) : share_(share), interval_(share >= 1 ? 1 : 2) {}

    [[nodiscard]] bool limits() const { return share_ < 1; }
    void beginStep(int step, TimeNs begin) {
        // Steps from the second one on: the first one warms up.
        if (limits() && step == step_ + 1 && step_ > 0) note(begin - began_);
        step_ = step;
        began_ = begin;
        done_ = isDue(step);
    }
    /// Whether the current step is checked.
    [[nodiscard]] bool done() const { return done_; }
    /// Whether a later step will be, as far as is known.
    [[nodiscard]] bool isDue(int step) const {
        return !limits() || step == 0 || (step >= kFirst && step % interval_ == 0);
    }
    /// Whether the interval rests on what checks have cost.
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
    /// Not the mean: a step that something else has held up says nothing about checks.
    static double usual(const std::deque<TimeNs>& times) {
        return static_cast<double>(median({times.begin(), times.end()}).count());
    }

    static constexpr std::size_t kLast = 9;
    double share_;
    int interval_;
    int step_ = -2; ///< before the first step, which follows none
    TimeNs began_{0};
    bool done_ = true;
    std::array<std::deque<TimeNs>, 2> took_; ///< by the last steps without checks, and with
};

} // namespace bubblescope
