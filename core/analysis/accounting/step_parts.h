#pragma once

#include "core/analysis/accounting/cause.h"
#include "core/analysis/accounting/usual_times.h"
#include "core/graph/step_replay.h"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope {

/// The parts of an op's time that are due to each cause. The remainder is the typical time of ops of the same kind.
/// Imbalance, slowdown and jitter are negative if the op was faster.
struct OpParts {
    TimeNs imbalance{0};
    TimeNs slowdown{0};
    TimeNs jitter{0};
    TimeNs gaps{0};
    TimeNs exposed{0}; ///< time in collectives inside the op; part of Cause::Communication

    /// 0 for causes that are not part of an op's time.
    [[nodiscard]] TimeNs of(Cause cause) const;
};

/// The median ratio between a step's op times and the usual times on their stages must differ from 1 by at least this
/// much to count as a slowdown of the step. Smaller differences are jitter.
inline constexpr double kLeastSlowdown = 0.005;

/// The times of a step's graph, split by cause. The times of every replay that leaves out a cause come from this class.
/// Stores references to the objects passed to the constructor.
class StepParts {
public:
    /// `usual` must belong to the step. Linear in units.
    StepParts(const ObservedStep& observed, const UnitTimes& usual);

    /// True if the cause accounts for any time in the graph. Always false for Order and Unknown, always true for
    /// Schedule.
    [[nodiscard]] bool has(Cause cause) const { return present_[indexOf(cause)]; }

    /// The durations of units with the given causes, never negative. Valid until the next call.
    [[nodiscard]] std::span<const TimeNs> durations(Causes causes);
    /// The time by which units start later than possible, with the given causes. Empty if all are 0. Valid until the
    /// next call.
    [[nodiscard]] std::span<const TimeNs> delays(Causes causes);
    /// As StepTimes::transfers.
    [[nodiscard]] const InputTimes* transfers(Causes causes) const {
        return causes[indexOf(Cause::Communication)] ? &observed_.graph.transfer : nullptr;
    }
    /// The durations of units, excluding gaps and exposed collectives.
    [[nodiscard]] std::span<const TimeNs> onDevice() const { return onDeviceList(); }
    [[nodiscard]] std::span<const TimeNs> asObserved() const { return durations_; }
    [[nodiscard]] OpParts ofOp(std::size_t unit) const;

private:
    void readDurations();
    void findSlowdown();
    [[nodiscard]] TimeNs exposedIn(std::size_t unit) const { return exposed_.empty() ? TimeNs{0} : exposed_[unit]; }
    /// The usual times, scaled by the common slowdown of this step.
    [[nodiscard]] const ListToFill<TimeNs>& slowed() const { return slowed_.empty() ? usual_ : slowed_; }

    /// Result of onDevice() as a list.
    [[nodiscard]] const ListToFill<TimeNs>& onDeviceList() const {
        return on_device_.empty() ? durations_ : on_device_;
    }

    const ObservedStep& observed_;
    const ListToFill<TimeNs>& typical_;
    const ListToFill<TimeNs>& usual_;
    ListToFill<TimeNs> durations_;
    ListToFill<TimeNs> on_device_; ///< empty if there are no gaps or exposed collectives
    std::vector<TimeNs> exposed_;  ///< empty if there are none
    ListToFill<TimeNs> slowed_;    ///< empty if there is no common slowdown
    Causes present_;
    ListToFill<TimeNs> mixed_;  ///< durations of the latest replay, unless one of the lists above contains them
    std::vector<TimeNs> delay_; ///< of the latest replay
};

} // namespace bubblescope
