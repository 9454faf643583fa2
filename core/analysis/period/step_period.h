#pragma once

#include "core/analysis/period/host_activity.h"
#include "core/base/time.h"
#include "core/timeline/step_selection.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

// The cost of a step for a job is the time from the step's start to the start of the next step. This period consists of
// the step, the time between the two steps, and occasionally the additional time of a long step or gap.
namespace bubblescope {

/// The time between the pipelines of two consecutive steps, over all replicas.
struct StepGap {
    std::size_t timeline = 0; ///< longest timeline of the earlier step, as an index into the run's steps
    TimeInterval time;        ///< empty if the next step starts before this one ends
    TimeNs between{0};        ///< length of `time`, but negative if the next step starts before this one ends
    TimeNs period{0};         ///< time from one start to the next
    Rank next;                ///< rank that starts the next step; 0 if the ops were dropped
    int next_index = 0;       ///< number of the next step
};

/// The gaps between steps with consecutive numbers, including outliers but not warm-up. Linear in timelines and ranks.
[[nodiscard]] std::vector<StepGap> gapsBetween(std::span<const StepTimeline> steps, const StepSelection& selection);

/// Indices into StepSelection::steps() of steps that exceed the typical step by more than 5 % and more than five robust
/// standard deviations. Warm-up does not count. Empty if more than a third of the steps would be long.
[[nodiscard]] std::vector<std::size_t> longSteps(const StepSelection& selection);

/// The distance between regularly spaced numbers, at least 2. None for fewer than three numbers.
[[nodiscard]] std::optional<int> rhythmOf(std::span<const int> ascending);

/// The work of one rank between steps.
struct BetweenSteps {
    HostActivity activity = HostActivity::DataLoading;
    int replica = 0;
    Rank rank;
    TimeNs time{0}; ///< mean over all gaps
};

/// The average time that a step takes in a job: period() = step + between + rare, exact to the nanosecond.
struct StepPeriod {
    /// Number of measured periods; if no steps are consecutive, all fields are 0.
    std::size_t periods = 0;
    TimeNs step{0};    ///< time of the typical step
    TimeNs between{0}; ///< median time between steps; negative if they overlap
    TimeNs rare{0};    ///< time that long steps and gaps add to the mean; negative if the mean is less than step +
                       ///< between
    std::vector<int> long_steps;          ///< StepTimeline::index of longSteps()
    TimeNs long_excess{0};                ///< excess over the typical step, divided by the number of periods
    std::optional<int> every;             ///< distance between long steps, if regular
    std::vector<BetweenSteps> activities; ///< per activity, the rank that spent the most time on it; longest first

    [[nodiscard]] TimeNs period() const { return step + between + rare; }
};

/// Linear in timelines × ranks with activities.
[[nodiscard]] StepPeriod periodOf(std::span<const StepTimeline> steps, const StepSelection& selection,
                                  const ActivityOfRanks& activities);

} // namespace bubblescope
