#pragma once

#include "core/analysis/accounting/cause.h"
#include "core/analysis/accounting/usual_times.h"
#include "core/graph/step_replay.h"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope {

/// What of an op's time is due to which cause; what is left is the time that is typical of its kind. Imbalance,
/// slowdown and jitter are negative where the op was faster.
struct OpParts {
    TimeNs imbalance{0};
    TimeNs slowdown{0};
    TimeNs jitter{0};
    TimeNs gaps{0};
    TimeNs exposed{0}; ///< in collectives inside it; of Cause::Communication

    /// 0 of causes that are no part of an op's time.
    [[nodiscard]] TimeNs of(Cause cause) const;
};

/// All ops of a step count as slower together where the median of what they took over what is usual on their stage
/// differs from 1 by this much at least; less is jitter.
inline constexpr double kLeastSlowdown = 0.005;

/// The times of a step's graph, taken apart by cause: the one place that says what a replay without a cause runs on.
/// Refers to what it was made of.
class StepParts {
public:
    /// `usual` was made of the step. Linear in units.
    StepParts(const ObservedStep& observed, const UnitTimes& usual);

    /// Whether some time on the graph is due to it. Order and Unknown lie in no time, Schedule in all: always false.
    [[nodiscard]] bool has(Cause cause) const { return present_[indexOf(cause)]; }

    /// What units take with these causes, none negative. Valid until the next call.
    [[nodiscard]] std::span<const TimeNs> durations(Causes causes);
    /// By how much they start later than they could. Empty where none does. Valid until the next call.
    [[nodiscard]] std::span<const TimeNs> delays(Causes causes);
    /// As StepTimes::transfers.
    [[nodiscard]] const std::array<std::vector<TimeNs>, 2>* transfers(Causes causes) const {
        return causes[indexOf(Cause::Communication)] ? &observed_.graph.transfer : nullptr;
    }
    /// Per unit: without gaps and exposed collectives.
    [[nodiscard]] const std::vector<TimeNs>& onDevice() const { return on_device_; }
    [[nodiscard]] const std::vector<TimeNs>& asObserved() const { return durations_; }
    [[nodiscard]] OpParts ofOp(std::size_t unit) const;

private:
    void readDurations();
    void findSlowdown();
    [[nodiscard]] TimeNs exposedIn(std::size_t unit) const { return exposed_.empty() ? TimeNs{0} : exposed_[unit]; }
    /// What is usual in a step as slow as this one.
    [[nodiscard]] const std::vector<TimeNs>& slowed() const { return slowed_.empty() ? usual_ : slowed_; }

    const ObservedStep& observed_;
    const std::vector<TimeNs>& typical_;
    const std::vector<TimeNs>& usual_;
    std::vector<TimeNs> durations_;
    std::vector<TimeNs> on_device_;
    std::vector<TimeNs> exposed_; ///< empty where there is none
    std::vector<TimeNs> slowed_;  ///< empty where there is no common slowdown
    Causes present_;
    std::vector<TimeNs> mixed_; ///< durations of the latest replay, where none of the lists above are
    std::vector<TimeNs> delay_; ///< of the latest replay
};

} // namespace bubblescope
