#pragma once

#include "core/analysis/whatif/replay_ops.h"
#include "core/cost/cost_model.h"

#include <array>
#include <vector>

namespace bubblescope {

/// Times of forwards and backwards, per stage and micro-batch, with means for micro-batches beyond.
class StageTimesTable {
public:
    /// A half of a backward that was measured whole takes its share; whole ones are the sum of their halves.
    [[nodiscard]] TimeNs of(OpKind kind, int stage, int microbatch, double input_share) const;

private:
    friend class StageCut;
    int microbatches_ = 0;
    bool split_ = false; ///< halves were measured
    /// Forward, whole backward, backward for the input; rows of m + 1 times a stage, the last being the mean.
    std::array<std::vector<double>, 3> times_;
    int divide_ = 1;
};

/// What a model's stages took, so that it can be told what they take when cut otherwise: see reschedule.h.
class StageCut {
public:
    /// `shares` of the model that each stage holds, which add up to 1.
    StageCut(std::vector<double> shares, int microbatches);

    /// `op` is Forward, Backward, BackwardInput or BackwardWeight. Of several measurements of one the mean counts.
    void add(ReplayOp op, int stage, int microbatch, TimeNs time);
    [[nodiscard]] bool empty() const { return empty_; }

    /// Times of stages that hold other shares. `slices` of a sequence divide them.
    [[nodiscard]] StageTimesTable table(const std::vector<double>& shares, int slices = 1) const;
    /// Of the mean op where the model is cut into so many equal stages; halves of a backward as measured, else equal.
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
    /// What a stage took for a micro-batch: F, the whole backward, or I.
    [[nodiscard]] double timeOf(std::size_t kind, std::size_t stage, int microbatch) const;
    /// Of each stage; the mean over all for micro-batch −1.
    [[nodiscard]] std::vector<double> stageTimes(std::size_t kind, int microbatch) const;
    [[nodiscard]] std::vector<double> cutTimes(std::vector<double> times, const std::vector<double>& shares) const;

    std::vector<double> shares_;
    int microbatches_;
    bool empty_ = true;
    std::array<std::vector<Sum>, kKinds> sums_;
    std::array<Sum, kKinds> total_;
};

} // namespace bubblescope
