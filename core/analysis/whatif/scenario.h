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
        TimeNs before{0}; ///< as replayed; mean over steps and replicas
        TimeNs after{0};
    };

    ReplayQuality quality; ///< of the model on the unchanged run
    TimeNs before{0};      ///< the unchanged run's mean step as replayed
    TimeNs after{0};       ///< the changed one's
    TimeNs late{0};        ///< by how much the unchanged one is longer than without late starts
    std::vector<RankBubble> ranks;
    std::optional<Schedule> schedule; ///< that would run, where the pipeline was changed
    /// Of the run's size.
    int microbatches_before = 1;
    int microbatches_after = 1;

    [[nodiscard]] TimeNs change() const { return after - before; }
    /// The observed step and the change: what the graph does not explain is taken to stay.
    [[nodiscard]] TimeNs predicted() const { return quality.observed + change(); }
    [[nodiscard]] double relativeChange() const;
};

/// `order` is the run's schedule. A change of the pipeline compares two graphs of ops and transfers
/// (reschedule.h), any other two replays of the run's own. Errors: as changedDurations(), reschedule() and
/// checkReplay().
[[nodiscard]] Result<Prediction> predict(const ReplayModel& run, const Schedule& order, const Scenario& scenario,
                                         const ModelCut& cut = {}, double most_error = kMaxReplayError);

/// One of the model's steps (its place in ReplayModel::steps) in one of its replicas (place in ReplayModel::replicas),
/// as it would run: the ops of the same replay that predict() makes, without transfers and what surrounds the pipeline.
/// The timeline begins at 0 with its first op. Errors: as predict(); Usage where there is no such step or replica, and
/// where the step has overlapped pairs, whose halves a replay does not tell apart.
[[nodiscard]] Result<StepTimeline> predictedStep(const ReplayModel& run, const Schedule& order,
                                                 const Scenario& scenario, const ModelCut& cut, std::size_t step,
                                                 std::size_t replica = 0);

} // namespace bubblescope
