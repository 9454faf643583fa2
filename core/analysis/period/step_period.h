#pragma once

#include "core/analysis/period/host_activity.h"
#include "core/base/time.h"
#include "core/timeline/step_selection.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

// The cost of a step for a job is the period from its start to the start of the next one: the step, the time between
// the two, and occasionally a long step or gap.
namespace bubblescope {

/// The time between the pipelines of two consecutive step numbers, over all replicas.
struct StepGap {
    std::size_t timeline = 0; ///< the earlier step's longest timeline, as an index into the run's steps
    TimeInterval time;        ///< empty if the next step begins before this one ends
    TimeNs between{0};        ///< as `time`; negative if the next step begins before this one ends
    TimeNs period{0};         ///< from begin to begin
    Rank next;                ///< the rank that begins the next step; 0 if the ops were dropped
    int next_index = 0;       ///< the next step's number
};

/// The gaps between steps with consecutive numbers that count or are outliers. Linear in timelines and ranks.
[[nodiscard]] std::vector<StepGap> gapsBetween(std::span<const StepTimeline> steps, const StepSelection& selection);

/// Steps that take longer than the typical one by 5 % and by five robust standard deviations, as indices into
/// StepSelection::steps(). Warm-up does not count; none if more than a third of the steps would be long.
[[nodiscard]] std::vector<std::size_t> longSteps(const StepSelection& selection);

/// The distance between regularly spaced numbers, at least 2; none for fewer than three.
[[nodiscard]] std::optional<int> rhythmOf(std::span<const int> ascending);

/// The work of one rank between steps.
struct BetweenSteps {
    HostActivity activity = HostActivity::DataLoading;
    int replica = 0;
    Rank rank;
    TimeNs time{0}; ///< mean over all gaps
};

/// The average time that a step takes a job: period() = step + between + rare, to the nanosecond.
struct StepPeriod {
    std::size_t periods =
        0;             ///< number of measured periods; if no two steps are consecutive, this and all other fields are 0
    TimeNs step{0};    ///< the typical step
    TimeNs between{0}; ///< median time between steps; negative if they overlap
    TimeNs rare{0};    ///< time that long steps and long gaps add to the mean; negative if the mean is below the sum of
                       ///< the other two
    std::size_t long_steps = 0;           ///< see longSteps()
    TimeNs long_excess{0};                ///< their time beyond the typical step, divided by the number of periods
    std::optional<int> every;             ///< distance between long steps, if regular
    std::vector<BetweenSteps> activities; ///< per activity, the rank for which it takes longest; largest first

    [[nodiscard]] TimeNs period() const { return step + between + rare; }
};

/// Linear in timelines, times ranks with activities.
[[nodiscard]] StepPeriod periodOf(std::span<const StepTimeline> steps, const StepSelection& selection,
                                  const ActivityOfRanks& activities);

} // namespace bubblescope
