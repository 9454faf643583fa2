#pragma once

#include "core/analysis/whatif/change.h"
#include "core/analysis/whatif/replay_model.h"
#include "core/analysis/whatif/stage_cut.h"
#include "core/schedule/schedule.h"

#include <vector>

namespace bubblescope {

/// What a run says of its model, and what it does not say.
struct ModelCut {
    std::vector<int> layers; ///< per stage of the run; empty = unknown, stages are taken for equal parts
    double input_share =
        0.5; ///< of the whole backward's time, for the input's gradient, where halves were not measured
};

/// A run's pipeline, run in another order or with another cut.
struct Rescheduled {
    Schedule schedule;
    ReplayModel model; ///< of ops, transfers and late starts (timeline_graph.h), what surrounds the pipeline kept
};

/// Puts measured times into another order. Times belong to the model's layers, not to ranks:
///
/// - a stage cut otherwise takes what its layers took, in proportion. The first and the last stage may hold an
///   embedding, or head and loss, besides: what they take beyond their layers at the median pace of the stages between
///   them stays with the first and the last stage;
/// - each micro-batch keeps its times; those added take the mean; parts of one take equal parts of its time;
/// - halves of a backward that was measured whole take ModelCut::input_share and the rest of it; a whole one takes the
///   sum of measured halves, and a pair the sum of both ops;
/// - a transfer takes the median of those measured between the same two ranks, else of all;
/// - every op starts as late as ops did in the mean.
///
/// `durations` are the run's, per node; `order` is the one that ran. Errors: Usage, when the schedule does not exist
/// for these sizes or layers do not fit; Input, when the run has pairs or slices of sequences, of which the parts' own
/// times are unknown.
[[nodiscard]] Result<Rescheduled> reschedule(const ReplayModel& run, const std::vector<TimeNs>& durations,
                                             const Schedule& order, const PipelineChange& change, const ModelCut& cut);

/// A run's pipeline in the mean over its steps, replicas and micro-batches, to try many others with. Its times are
/// those that reschedule() gives, without jitter.
class MeanPipeline {
public:
    /// Errors: as reschedule().
    [[nodiscard]] static Result<MeanPipeline> of(const ReplayModel& run, const Schedule& order, const ModelCut& cut);

    [[nodiscard]] Result<Schedule> schedule(const PipelineChange& change) const;
    /// For a schedule made with `change`.
    [[nodiscard]] CostModel costs(const Schedule& schedule, const PipelineChange& change) const;
    /// What each layer takes, for a schedule made with `change`; needs ModelCut::layers.
    [[nodiscard]] std::vector<OpTimes> layerTimes(const PipelineChange& change) const;

private:
    MeanPipeline(const ReplayModel& run, const Schedule& order, ModelCut cut, StageCut mean, TimeNs comm);
    [[nodiscard]] std::vector<OpTimes> timesOf(const std::vector<double>& parts, int split) const;

    const ReplayModel& run_;
    const Schedule& order_;
    ModelCut cut_;
    StageCut mean_;
    TimeNs comm_;
};

} // namespace bubblescope
