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
    TimeNs time{0};    ///< one standard error of the change, from the four below
    TimeNs replay{0};  ///< the replay's error (ReplayCheck) times the change
    TimeNs spread{0};  ///< standard error of the mean change over the steps; 0 for one step, where it is unknown
    TimeNs reorder{0}; ///< error of the run's own order when it runs with the mean times used for another order
    TimeNs gaps{0}; ///< all time between ops that another order adds, because it is extrapolated; twice that if it cuts
                    ///< ops
};

/// The predicted time of a run with some change.
struct Prediction {
    struct RankBubble {
        Rank rank;
        TimeNs before{0}; ///< as simulated; mean over replicas, and over steps if the pipeline was changed
        TimeNs after{0};
    };

    TimeNs step{0};    ///< observed step time, see RunModel::step_time
    ModelFit fit;      ///< of the unchanged replay: its observed time and its time on the graph
    ReplayCheck check; ///< of the replay of the run, independent of the scenario
    ErrorBar bar;      ///< for change()
    /// The unchanged step as simulated: the typical one, or the mean over all if the pipeline was changed.
    TimeNs before{0};
    TimeNs after{0}; ///< the changed one
    TimeNs late{0};  ///< time that late starts add to the unchanged step
    /// Time before the end of a step at which the next one could begin if ranks waited for each other only where the
    /// pipeline requires it: mean over steps, for the unchanged and the changed step.
    TimeNs overlap_before{0};
    TimeNs overlap_after{0};
    std::vector<RankBubble> ranks;
    /// If the pipeline was changed: the mean unexplained time between ops, and the part of the change that is due to
    /// more or fewer ops.
    TimeNs gap{0};
    TimeNs gaps_added{0};
    std::optional<QueueEffect> queues; ///< if queues were changed; part of `after`
    std::optional<Schedule> schedule;  ///< the schedule that would run, if the pipeline was changed
    /// For the run's size.
    int microbatches_before = 1;
    int microbatches_after = 1;

    /// For the typical step. If the pipeline was changed, the mean change, scaled by the ratio of the typical step to
    /// the mean one, because very different steps could otherwise get a negative time.
    [[nodiscard]] TimeNs change() const;
    /// The typical step plus the change: what the graph does not explain is assumed to stay.
    [[nodiscard]] TimeNs predicted() const { return step + change(); }
    [[nodiscard]] double relativeChange() const { return fractionOf(change(), step); }
};

/// `order` is the run's schedule. A change of the pipeline compares two graphs of ops and transfers (reschedule.h),
/// made from the mean times of all steps; any other change compares two simulations of the typical step's graph.
/// Errors: as changedDurations() and reschedule(); Input if `most_error` is given and the replay's error exceeds it.
[[nodiscard]] Result<Prediction> predict(const RunModel& run, const Schedule& order, const Scenario& scenario,
                                         const ModelCut& cut = {}, std::optional<double> most_error = {});

/// Error: Input if the replay's error exceeds `most`.
[[nodiscard]] Status checkError(const RunModel& run, std::optional<double> most);

/// One of the model's steps (index into RunModel::steps) in one of its replicas (index into RunModel::replicas), as it
/// would run: the ops of the simulation in predict(), without transfers and the work before and after the pipeline. The
/// timeline starts at 0 with its first op. Errors: as predict(); Usage if there is no such step or replica, or if the
/// step has overlapped pairs, whose halves a simulation does not distinguish.
[[nodiscard]] Result<StepTimeline> predictedStep(const RunModel& run, const Schedule& order, const Scenario& scenario,
                                                 const ModelCut& cut, std::size_t step, std::size_t replica = 0);

/// The effect of a scenario on a run, with one of the run's steps as it would run.
struct ScenarioAnswer {
    Prediction prediction;
    std::optional<StepTimeline> timeline; ///< see predictedStep(); none if it fails
    std::string no_timeline;              ///< why it fails; empty otherwise
};

/// `step` is the observed step to predict, from the run that `run` was made from; `order` is that run's schedule.
/// Errors: as predict().
[[nodiscard]] Result<ScenarioAnswer> answerScenario(const RunModel& run, const Schedule& order,
                                                    const Scenario& scenario, const ModelCut& cut,
                                                    const StepTimeline& step);

} // namespace bubblescope
