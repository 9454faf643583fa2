#pragma once

#include "core/analysis/whatif/change.h"
#include "core/analysis/whatif/run_model.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <vector>

namespace bubblescope {

/// The division of the run's model into stages, as far as known.
struct ModelCut {
    std::vector<int> layers;  ///< number of layers per stage; empty = unknown, stages are assumed to be equal
    double input_share = 0.5; ///< fraction of a backward spent on the input gradient, if halves were not measured
};

/// A run's pipeline with a different order or a different cut into stages.
struct Rescheduled {
    Schedule schedule;
    RunModel model; ///< ops, transfers and late starts (timeline_graph.h), and the work before and after the pipeline
};

/// Applies measured times to a different order. Times belong to the model's layers, not to ranks:
///
/// - If a stage's number of layers changes, its time changes in proportion. The first and the last stage may
///   also contain the embedding, or the head and loss. Time beyond the other stages' median time per layer stays with
///   these two stages.
/// - Each micro-batch keeps its times. Additional micro-batches get the mean. Parts of a split micro-batch share its
///   time equally.
/// - If a backward was measured as one op, I gets ModelCut::input_share of its time and W gets the rest. A
///   combined backward gets the sum of its measured halves, and a pair the sum of both ops. On the first stage, whose
///   input needs no gradient, PyTorch runs the combined backward instead of the second half.
/// - Every op has a fixed cost, which does not change when the op is cut. Ops of a single size do not reveal this cost.
///   The cost is assumed to be the mean time between ops, but at most a tenth of the op. With PyTorch, measured costs
///   were 0.15 to 0.25 ms, and the mean time between ops was 0.21 ms.
/// - A transfer gets the mean time of transfers between the same two ranks or, if there are none, of all transfers.
/// - Every op is delayed by its rank's mean delay before ops of the same kind, including HostGaps.
///
/// `durations` contains the run's durations per node; `order` is the observed one. Errors: Usage if the schedule does
/// not exist for these sizes or the layers do not fit; Input if the run has overlapped pairs or sequence slices,
/// because the times of their parts are unknown.
[[nodiscard]] Result<Rescheduled> reschedule(const RunModel& run, const std::vector<TimeNs>& durations,
                                             const Schedule& order, const PipelineChange& change, const ModelCut& cut);

/// The mean unexplained delay before an op of the run.
[[nodiscard]] TimeNs meanGap(const RunModel& run);

/// Options for applying the times of a StageCut.
struct CutRules {
    int slices = 1;              ///< number of sequence slices; times are divided by this number
    bool keeps_fixed = true;     ///< true if ops keep their fixed cost
    bool first_has_input = true; ///< true if the first stage computes the gradient of its input

    [[nodiscard]] static CutRules of(const Schedule& schedule, int slices);
};

/// Forward and backward times per stage and micro-batch. Micro-batches beyond the measured ones get the mean.
class StageTimesTable {
public:
    /// The time of a backward measured as one op is divided between its halves. The times of combined backwards are the
    /// sums of their halves.
    [[nodiscard]] TimeNs of(OpKind kind, int stage, int microbatch, double input_share) const;

private:
    friend class StageCut;
    [[nodiscard]] double halfOf(OpKind kind, double whole, bool first_stage, double input_share) const;
    [[nodiscard]] double fixedOf(double time) const { return std::min(fixed_, time / kLeastTimesFixed); }

    static constexpr double kLeastTimesFixed = 10; ///< minimum ratio of an op's time to its fixed cost
    int microbatches_ = 0;
    bool split_ = false; ///< true if halves were measured
    double fixed_ = 0;   ///< fixed cost of each op in ns
    bool first_has_input_ = true;
    /// Forward, backward and input gradient: rows of m + 1 times per stage. The last entry is the mean.
    std::array<std::vector<double>, 3> times_;
    int divide_ = 1;
};

/// The measured times of a model's stages, from which the times for another cut are computed: see reschedule().
class StageCut {
public:
    /// `shares` are the fractions of the model in each stage, which add up to 1. `fixed` is the part of an op's time
    /// that does not depend on the share of its stage.
    StageCut(std::vector<double> shares, int microbatches, TimeNs fixed);

    /// `op` is Forward, Backward, BackwardInput or BackwardWeight. Repeated measurements of the same op are averaged.
    void add(RunOp op, int stage, int microbatch, TimeNs time);
    [[nodiscard]] bool empty() const { return empty_; }

    /// Computes stage times for different shares.
    [[nodiscard]] StageTimesTable table(const std::vector<double>& shares, const CutRules& rules) const;
    /// Mean op times if the model is cut into `stages` equal stages. The halves of a backward are as measured or, if
    /// not measured, equal.
    [[nodiscard]] OpTimes meanTimes(int stages) const;

private:
    static constexpr std::size_t kKinds = 4; ///< F, B, I, W
    struct Sum {
        double time = 0;
        int count = 0;
        [[nodiscard]] double mean() const { return count == 0 ? 0 : time / count; }
    };
    [[nodiscard]] std::size_t at(std::size_t stage, int microbatch) const {
        return stage * static_cast<std::size_t>(microbatches_) + static_cast<std::size_t>(microbatch);
    }
    [[nodiscard]] bool measured(std::size_t kind) const { return total_[kind].count > 0; }
    /// Time of the F, combined backward or I of a micro-batch on a stage.
    [[nodiscard]] double timeOf(std::size_t kind, std::size_t stage, int microbatch) const;
    /// Times per stage; micro-batch −1 stands for the mean over all micro-batches.
    [[nodiscard]] std::vector<double> stageTimes(std::size_t kind, int microbatch) const;
    [[nodiscard]] std::vector<double> cutTimes(std::vector<double> times, const std::vector<double>& shares) const;

    std::vector<double> shares_;
    int microbatches_;
    double fixed_;
    bool empty_ = true;
    std::array<std::vector<Sum>, kKinds> sums_;
    std::array<Sum, kKinds> total_;
};

/// A run's pipeline, averaged over steps, replicas and micro-batches, for evaluating many alternatives. Times are those
/// of reschedule(), without jitter.
class MeanPipeline {
public:
    /// Errors: as for reschedule().
    [[nodiscard]] static Result<MeanPipeline> of(const RunModel& run, const Schedule& order, const ModelCut& cut);

    [[nodiscard]] Result<Schedule> schedule(const PipelineChange& change) const;
    /// The costs for a schedule created with `change`.
    [[nodiscard]] CostModel costs(const Schedule& schedule, const PipelineChange& change) const;
    /// Like costs(), but with the mean time between ops added to each op.
    [[nodiscard]] CostModel costsWithGaps(const Schedule& schedule, const PipelineChange& change) const;
    /// Times per layer, for a schedule created with `change`. Requires ModelCut::layers.
    [[nodiscard]] std::vector<OpTimes> layerTimes(const PipelineChange& change) const;

private:
    MeanPipeline(const RunModel& run, const Schedule& order, ModelCut cut, StageCut mean, TimeNs comm);
    [[nodiscard]] std::vector<OpTimes> timesOf(const std::vector<double>& parts, const CutRules& rules) const;

    const RunModel& run_;
    const Schedule& order_;
    ModelCut cut_;
    StageCut mean_;
    TimeNs comm_;
};

/// A step with the run's mean times, simulated with transfer queues, before and after the change.
struct QueueEffect {
    TimeNs before{0};
    TimeNs after{0};
    [[nodiscard]] TimeNs change() const { return after - before; }
};

/// `schedule` is the one that would run after `change`. Errors: as for reschedule() and lowerAsTorch(); Input if the
/// order hangs, with the cycle.
[[nodiscard]] Result<QueueEffect> queueEffect(const RunModel& run, const Schedule& order, const Schedule& schedule,
                                              const PipelineChange& change, const ModelCut& cut);

} // namespace bubblescope
