#pragma once

#include "core/analysis/period/host_activity.h"
#include "core/base/time.h"
#include "core/timeline/step_selection.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

// What a job pays for a step is the period from one step's begin to the next one's: the step, the time between both,
// and now and then a long one.
namespace bubblescope {

/// The time between the pipeline of a step number and that of the next one, over all replicas.
struct StepGap {
    std::size_t timeline = 0; ///< of the earlier step, the longest one, by its place in the run's steps
    TimeInterval time;        ///< empty where the next step begins before this one ends
    TimeNs period{0};         ///< from begin to begin
    Rank next;                ///< that begins the next step; 0 where the ops are gone
    int next_index = 0;       ///< the next step's number
};

/// Between steps with neighbouring numbers that count or are outliers. Linear in timelines and ranks.
[[nodiscard]] std::vector<StepGap> gapsBetween(std::span<const StepTimeline> steps, const StepSelection& selection);

/// Steps that take longer than the typical one by 5 % and by five robust standard deviations, by their places in
/// StepSelection::steps(). Warm-up does not count; none where more than a third of the steps would be long.
[[nodiscard]] std::vector<std::size_t> longSteps(const StepSelection& selection);

/// The distance of numbers that follow each other regularly, 2 or more; none of fewer than three.
[[nodiscard]] std::optional<int> rhythmOf(std::span<const int> ascending);

/// What one rank does between steps.
struct BetweenSteps {
    HostActivity activity = HostActivity::DataLoading;
    int replica = 0;
    Rank rank;
    TimeNs time{0}; ///< mean over all gaps
};

/// How long a job takes for a step in the mean: period() = step + between + rare, to the nanosecond.
struct StepPeriod {
    std::size_t periods = 0;    ///< that were measured; 0 where no two steps follow each other: all else is then 0
    TimeNs step{0};             ///< the typical step
    TimeNs between{0};          ///< median time between steps
    TimeNs rare{0};             ///< what long steps and long gaps add to the mean; negative where it is below
    std::size_t long_steps = 0; ///< see longSteps()
    TimeNs long_excess{0};      ///< what these take longer than the typical step, over the number of periods
    std::optional<int> every;   ///< distance of long steps, where they come regularly
    std::vector<BetweenSteps> activities; ///< of each activity the rank that it takes longest, largest first

    [[nodiscard]] TimeNs period() const { return step + between + rare; }
};

/// Linear in timelines, times ranks with activities.
[[nodiscard]] StepPeriod periodOf(std::span<const StepTimeline> steps, const StepSelection& selection,
                                  const ActivityOfRanks& activities);

} // namespace bubblescope
