#pragma once

#include "core/analysis/whatif/change.h"
#include "core/analysis/whatif/reschedule.h"
#include "core/analysis/whatif/straggler_study.h"
#include "core/timeline/step_timeline.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// How far a prediction may be off, and why.
struct ErrorBar {
    TimeNs time{0};    ///< one standard error of the change, from the four below
    TimeNs replay{0};  ///< the replay's error (ReplayCheck) times the change
    TimeNs spread{0};  ///< of the change over the steps, for their mean; 0 with one step, where it is unknown
    TimeNs reorder{0}; ///< how far the run's own order is off on the mean times that another order is made of
    TimeNs gaps{0}; ///< all time between ops that another order adds, since it is extrapolated; thrice, if it cuts ops
};

/// What a run would take if something were otherwise.
struct Prediction {
    struct RankBubble {
        Rank rank;
        TimeNs before{0}; ///< as simulated; mean over replicas, and over steps where the pipeline was changed
        TimeNs after{0};
    };

    TimeNs step{0};    ///< what a step takes as it ran, see RunModel::step_time
    ModelFit fit;      ///< what was replayed, unchanged: its observed time and its time on the graph
    ReplayCheck check; ///< of the replay of the run, independent of the scenario
    ErrorBar bar;      ///< of change()
    /// The unchanged step as simulated: the typical one, or the mean of all where the pipeline was changed.
    TimeNs before{0};
    TimeNs after{0}; ///< the changed one
    TimeNs late{0};  ///< by how much the unchanged one is longer than without late starts
    std::vector<RankBubble> ranks;
    /// Where the pipeline was changed: the mean time between ops that no record explains, and how much of the change
    /// comes from there being more ops, or fewer.
    TimeNs gap{0};
    TimeNs gaps_added{0};
    std::optional<Schedule> schedule; ///< that would run, where the pipeline was changed
    /// Of the run's size.
    int microbatches_before = 1;
    int microbatches_after = 1;

    /// Of the typical step. Where the pipeline was changed it is the mean change, as much less or more as the typical
    /// step is shorter or longer than the mean one: steps that are unlike each other would else end before they begin.
    [[nodiscard]] TimeNs change() const;
    /// The typical step and the change: what the graph does not explain is taken to stay.
    [[nodiscard]] TimeNs predicted() const { return step + change(); }
    [[nodiscard]] double relativeChange() const { return fractionOf(change(), step); }
};

/// `order` is the run's schedule. A change of the pipeline compares two graphs of ops and transfers (reschedule.h),
/// made of the mean times of all steps; any other change two simulations of the typical step's graph. Errors: as
/// changedDurations() and reschedule(); Input, when `most_error` is given and the replay's error exceeds it.
[[nodiscard]] Result<Prediction> predict(const RunModel& run, const Schedule& order, const Scenario& scenario,
                                         const ModelCut& cut = {}, std::optional<double> most_error = {});

/// Error: Input, when the replay's error exceeds `most`.
[[nodiscard]] Status checkError(const RunModel& run, std::optional<double> most);

/// One of the model's steps (its place in RunModel::steps) in one of its replicas (place in RunModel::replicas),
/// as it would run: the ops of the same simulation that predict() makes, without transfers and what surrounds the
/// pipeline. The timeline begins at 0 with its first op. Errors: as predict(); Usage where there is no such step or
/// replica, and where the step has overlapped pairs, whose halves a simulation does not distinguish.
[[nodiscard]] Result<StepTimeline> predictedStep(const RunModel& run, const Schedule& order, const Scenario& scenario,
                                                 const ModelCut& cut, std::size_t step, std::size_t replica = 0);

/// What a scenario would change in a run, with one of the run's steps as it would run.
struct ScenarioAnswer {
    Prediction prediction;
    std::optional<StepTimeline> timeline; ///< see predictedStep(); none where it fails
    std::string no_timeline;              ///< why it fails; empty otherwise
};

/// `step` is the observed step to predict, one of the run that `run` was made of; `order` is that run's schedule.
/// Errors: as predict().
[[nodiscard]] Result<ScenarioAnswer> answerScenario(const RunModel& run, const Schedule& order,
                                                    const Scenario& scenario, const ModelCut& cut,
                                                    const StepTimeline& step);

} // namespace bubblescope
