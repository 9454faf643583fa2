#pragma once

#include "core/analysis/whatif/change.h"
#include "core/analysis/whatif/reschedule.h"
#include "core/analysis/whatif/straggler_study.h"
#include "core/timeline/step_timeline.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// The uncertainty of a prediction, and its parts.
struct ErrorBar {
    TimeNs time{0};    ///< one standard error of the change, combined from the four parts below
    TimeNs replay{0};  ///< relative error of the replay (ReplayCheck) times the change
    TimeNs spread{0};  ///< standard error of the mean change over all steps; unknown (0) for one step
    TimeNs reorder{0}; ///< error of the observed order when replayed with the mean times used for other orders
    TimeNs gaps{0};    ///< extrapolated additional time between ops in another order; doubled if ops are
                       ///< cut
};

/// The predicted step time of a run after a change.
struct Prediction {
    struct RankBubble {
        Rank rank;
        TimeNs before{0}; ///< simulated time; mean over replicas and, if the pipeline was changed, over steps
        TimeNs after{0};
    };

    TimeNs step{0};    ///< observed step time, see RunModel::step_time
    ModelFit fit;      ///< observed and simulated time of the unchanged step
    ReplayCheck check; ///< accuracy of the run's replay, independent of the scenario
    ErrorBar bar;      ///< for change()
    /// Simulated time of the unchanged step: the typical step, or the mean over all steps if the pipeline was changed.
    TimeNs before{0};
    TimeNs after{0}; ///< simulated time of the changed step
    TimeNs late{0};  ///< time that late starts add to the unchanged step
    /// Time before the end of a step at which the next step could start if ranks waited for each other only where the
    /// pipeline requires it. Mean over steps, for the unchanged and the changed step.
    TimeNs overlap_before{0};
    TimeNs overlap_after{0};
    std::vector<RankBubble> ranks;
    /// If the pipeline was changed: the mean unexplained time between ops, and the part of the change due to a
    /// different number of ops.
    TimeNs gap{0};
    TimeNs gaps_added{0};
    std::optional<QueueEffect> queues; ///< effect of changed queues, included in `after`; none if unchanged
    std::optional<Schedule> schedule;  ///< the schedule that would run, if the pipeline was changed
    /// Number of micro-batches in the recorded run, and after the change.
    int microbatches_before = 1;
    int microbatches_after = 1;

    /// Change in the typical step. If the pipeline was changed, this is the mean change times the ratio of the typical
    /// step to the mean step. Without this scaling, a short step could get a negative time.
    [[nodiscard]] TimeNs change() const;
    /// The typical step plus the change. Time that the graph does not explain is assumed to remain.
    [[nodiscard]] TimeNs predicted() const { return step + change(); }
    [[nodiscard]] double relativeChange() const { return fractionOf(change(), step); }
};

/// `order` is the schedule of the run. For a change to the pipeline, compares two graphs of ops and transfers
/// (reschedule.h) with the mean times of all steps. Otherwise compares two simulations of the typical step's graph.
/// Errors: as for changedDurations() and reschedule(); Input if `most_error` is set and the replay's error exceeds it.
[[nodiscard]] Result<Prediction> predict(const RunModel& run, const Schedule& order, const Scenario& scenario,
                                         const ModelCut& cut = {}, std::optional<double> most_error = {});

/// Error: Input if the replay's error exceeds `most`.
[[nodiscard]] Status checkError(const RunModel& run, std::optional<double> most);

/// The predicted timeline of a step (index into RunModel::steps) in a replica (index into RunModel::replicas). Contains
/// the ops simulated by predict(), but neither transfers nor the work before and after the pipeline. The timeline
/// starts at 0 with the first op. Errors: as for predict(); Usage if there is no such step or replica, or if the step
/// has overlapped pairs, whose halves a simulation does not distinguish.
[[nodiscard]] Result<StepTimeline> predictedStep(const RunModel& run, const Schedule& order, const Scenario& scenario,
                                                 const ModelCut& cut, std::size_t step, std::size_t replica = 0);

/// The predicted effect of a scenario on a run, with the predicted timeline of one step.
struct ScenarioAnswer {
    Prediction prediction;
    std::optional<StepTimeline> timeline; ///< result of predictedStep(); none if this fails
    std::string no_timeline;              ///< reason why there is no timeline; empty otherwise
};

/// `step` is the observed step to predict, in the run from which the model `run` was created; `order` is that run's
/// schedule. Errors: as for predict().
[[nodiscard]] Result<ScenarioAnswer> answerScenario(const RunModel& run, const Schedule& order,
                                                    const Scenario& scenario, const ModelCut& cut,
                                                    const StepTimeline& step);

} // namespace bubblescope
