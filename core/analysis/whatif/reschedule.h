#pragma once

#include "core/analysis/whatif/change.h"
#include "core/analysis/whatif/run_model.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <vector>

namespace bubblescope {

/// The cut of the run's model into stages, as far as known.
struct ModelCut {
    std::vector<int> layers; ///< per stage of the run; empty = unknown, stages count as equal parts
    double input_share =
        0.5; ///< fraction of the whole backward's time for the input gradient, if halves were not measured
};

/// A run's pipeline in another order or with another cut.
struct Rescheduled {
    Schedule schedule;
    RunModel
        model; ///< of ops, transfers and late starts (timeline_graph.h), keeping the work before and after the pipeline
};

/// Applies measured times to another order. Times belong to the model's layers, not to ranks:
///
/// - - a stage with another cut takes the time of its layers, in proportion. The first and the last stage may also hold
/// an embedding, or head and loss: their time beyond that of their layers, at the median pace of the stages in between,
/// stays with the first and the last stage;
/// - - each micro-batch keeps its times; additional ones take the mean; parts of a split one share its time equally;
/// - - the halves of a backward that was measured whole take ModelCut::input_share and the rest of it; a whole backward
///   takes the sum of measured halves, and a pair the sum of both ops. PyTorch runs the whole backward of the first
///   stage, whose input needs no gradient, in place of the second half;
/// - - every op has a fixed cost, which it keeps when it is cut. Ops of one size do not reveal it: it is assumed to be
/// as
///   long as the mean time between ops, and at most a tenth of the op. On PyTorch 0.15 to 0.25 ms were measured where
///   0.21 ms passed between ops;
/// - - a transfer takes the mean of those measured between the same two ranks, otherwise of all;
/// - - every op starts late by the mean of its rank's delays before ops of the same kind, including HostGaps.
///
/// `durations` are the run's, per node; `order` is the one that ran. Errors: Usage if the schedule does not exist for
/// these sizes or layers do not fit; Input if the run has overlapped pairs or slices of sequences, because the times of
/// their parts are unknown.
[[nodiscard]] Result<Rescheduled> reschedule(const RunModel& run, const std::vector<TimeNs>& durations,
                                             const Schedule& order, const PipelineChange& change, const ModelCut& cut);

/// The mean delay of op starts in a run for which no reason was recorded.
[[nodiscard]] TimeNs meanGap(const RunModel& run);

/// Options for applying the times of a StageCut.
struct CutRules {
    int slices = 1;              ///< of a sequence, which divide the times
    bool keeps_fixed = true;     ///< ops keep their fixed cost
    bool first_has_input = true; ///< the first stage computes a gradient of its input

    [[nodiscard]] static CutRules of(const Schedule& schedule, int slices);
};

/// Times of forwards and backwards, per stage and micro-batch, with means for micro-batches beyond.
class StageTimesTable {
public:
    /// The halves of a backward that was measured whole take their shares of it; whole ones are the sum of their
    /// halves.
    [[nodiscard]] TimeNs of(OpKind kind, int stage, int microbatch, double input_share) const;

private:
    friend class StageCut;
    [[nodiscard]] double halfOf(OpKind kind, double whole, bool first_stage, double input_share) const;
    [[nodiscard]] double fixedOf(double time) const { return std::min(fixed_, time / kLeastTimesFixed); }

    static constexpr double kLeastTimesFixed = 10; ///< an op takes at least this many times its fixed cost
    int microbatches_ = 0;
    bool split_ = false; ///< halves were measured
    double fixed_ = 0;   ///< cost of each op, in ns
    bool first_has_input_ = true;
    /// Forward, whole backward, backward for the input; rows of m + 1 times per stage, the last being the mean.
    std::array<std::vector<double>, 3> times_;
    int divide_ = 1;
};

/// The measured times of a model's stages, which determine the times under another cut: see reschedule().
class StageCut {
public:
    /// `shares` of the model that each stage holds, which add up to 1. `fixed`: the part of an op's time that does not
    /// depend on its stage's share.
    StageCut(std::vector<double> shares, int microbatches, TimeNs fixed);

    /// `op` is Forward, Backward, BackwardInput or BackwardWeight. The mean counts if an op was measured several times.
    void add(RunOp op, int stage, int microbatch, TimeNs time);
    [[nodiscard]] bool empty() const { return empty_; }

    /// Times of stages with other shares.
    [[nodiscard]] StageTimesTable table(const std::vector<double>& shares, const CutRules& rules) const;
    /// Times of the mean op if the model is cut into `stages` equal stages; halves of a backward as measured, otherwise
    /// equal.
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
    /// For a stage and micro-batch: F, the whole backward, or I.
    [[nodiscard]] double timeOf(std::size_t kind, std::size_t stage, int microbatch) const;
    /// For each stage; the mean over all for micro-batch −1.
    [[nodiscard]] std::vector<double> stageTimes(std::size_t kind, int microbatch) const;
    [[nodiscard]] std::vector<double> cutTimes(std::vector<double> times, const std::vector<double>& shares) const;

    std::vector<double> shares_;
    int microbatches_;
    double fixed_;
    bool empty_ = true;
    std::array<std::vector<Sum>, kKinds> sums_;
    std::array<Sum, kKinds> total_;
};

/// A run's pipeline averaged over its steps, replicas and micro-batches, for trying many others. Its times are those of
/// reschedule(), without jitter.
class MeanPipeline {
public:
    /// Errors: as reschedule().
    [[nodiscard]] static Result<MeanPipeline> of(const RunModel& run, const Schedule& order, const ModelCut& cut);

    [[nodiscard]] Result<Schedule> schedule(const PipelineChange& change) const;
    /// For a schedule made with `change`.
    [[nodiscard]] CostModel costs(const Schedule& schedule, const PipelineChange& change) const;
    /// As costs(), with the mean time between ops added to each op.
    [[nodiscard]] CostModel costsWithGaps(const Schedule& schedule, const PipelineChange& change) const;
    /// Per layer, for a schedule made with `change`; needs ModelCut::layers.
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

/// The step with the run's mean times, simulated with queues of transfers: as the run is assumed to be and as changed.
struct QueueEffect {
    TimeNs before{0};
    TimeNs after{0};
    [[nodiscard]] TimeNs change() const { return after - before; }
};

/// `schedule` is the one that would run with `change`. Errors: as reschedule() and lowerAsTorch(); Input if the order
/// hangs, naming the cycle.
[[nodiscard]] Result<QueueEffect> queueEffect(const RunModel& run, const Schedule& order, const Schedule& schedule,
                                              const PipelineChange& change, const ModelCut& cut);

} // namespace bubblescope
