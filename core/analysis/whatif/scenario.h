#pragma once

#include "core/analysis/whatif/change.h"
#include "core/analysis/whatif/reschedule.h"
#include "core/analysis/whatif/straggler_study.h"
#include "core/timeline/step_timeline.h"

#include <optional>
#include <vector>

namespace bubblescope {

/// What a run would take if something were otherwise.
struct Prediction {
    struct RankBubble {
        Rank rank;
        TimeNs before{0}; ///< as simulated; mean over steps and replicas
        TimeNs after{0};
    };

    TimeNs step{0};   ///< what a step takes as it ran, see RunModel::step_time
    ModelFit fit;     ///< of the model on the unchanged run
    TimeNs before{0}; ///< the unchanged run's mean step as simulated
    TimeNs after{0};  ///< the changed one's
    TimeNs late{0};   ///< by how much the unchanged one is longer than without late starts
    std::vector<RankBubble> ranks;
    std::optional<Schedule> schedule; ///< that would run, where the pipeline was changed
    /// Of the run's size.
    int microbatches_before = 1;
    int microbatches_after = 1;

    [[nodiscard]] TimeNs change() const { return after - before; }
    /// The typical step and the change: what the graph does not explain is taken to stay.
    [[nodiscard]] TimeNs predicted() const { return step + change(); }
    [[nodiscard]] double relativeChange() const;
};

/// `order` is the run's schedule. A change of the pipeline compares two graphs of ops and transfers (reschedule.h), any
/// other change two simulations of the run's graph. Errors: as changedDurations(), reschedule() and
/// checkFit().
[[nodiscard]] Result<Prediction> predict(const RunModel& run, const Schedule& order, const Scenario& scenario,
                                         const ModelCut& cut = {}, double most_error = kMaxFitError);

/// One of the model's steps (its place in RunModel::steps) in one of its replicas (place in RunModel::replicas),
/// as it would run: the ops of the same simulation that predict() makes, without transfers and what surrounds the
/// pipeline. The timeline begins at 0 with its first op. Errors: as predict(); Usage where there is no such step or
/// replica, and where the step has overlapped pairs, whose halves a simulation does not distinguish.
[[nodiscard]] Result<StepTimeline> predictedStep(const RunModel& run, const Schedule& order, const Scenario& scenario,
                                                 const ModelCut& cut, std::size_t step, std::size_t replica = 0);

} // namespace bubblescope
