#pragma once

#include "runtime/model/linear.h"
#include "runtime/model/stage_model.h"
#include "runtime/model/synthetic.h"
#include "runtime/run.h"

#include <map>
#include <vector>

namespace bubblescope::runtime {

/// A stage of the model that ModelConfig describes: blocks x + gelu(x·weight + bias); the last stage adds a
/// linear head with one output and the mean squared error. Parameters follow from (seed, number of the block in the
/// whole model), data from (seed, sample), so any cut of the same blocks into stages, and of stages into ranks,
/// computes the same numbers. Rows are independent of each
/// other; slice i of k of a micro-batch of R rows are its rows i·R/k … (i+1)·R/k − 1.
class MlpStage final : public StageModel {
public:
    MlpStage(const ModelConfig& config, StageTask task);

    [[nodiscard]] Tensor forward(Piece piece, Tensor input) override;
    [[nodiscard]] Tensor backwardInput(Piece piece, Tensor output_grad) override;
    void backwardWeight(Piece piece) override;
    [[nodiscard]] Tensor takeGradient() override;
    void applyGradient(const Tensor& sum) override;
    [[nodiscard]] double takeLoss() override;
    [[nodiscard]] MemoryUse memory() const override;
    [[nodiscard]] std::uint64_t digest(std::uint64_t hash) const override;

    /// The blocks' parameters in order, then the head's where there is one.
    [[nodiscard]] std::vector<Linear>& parameters() { return parameters_; }

private:
    /// What a piece leaves behind between its ops.
    struct Kept {
        std::vector<Tensor> inputs;       ///< of each linear; F to W
        std::vector<Tensor> activated;    ///< arguments of each block's GELU; F to I
        std::vector<Tensor> output_grads; ///< of each linear; I to W
        Tensor loss_grad;                 ///< for the head's output; F to I

        [[nodiscard]] std::int64_t bytes() const;
    };

    [[nodiscard]] std::size_t blocks() const { return static_cast<std::size_t>(config_.layers_per_stage); }
    [[nodiscard]] Kept& kept(Piece piece);
    [[nodiscard]] Eigen::Index parameterCount() const;
    [[nodiscard]] Tensor rowsOf(const Tensor& sample, int slice) const;

    ModelConfig config_;
    StageTask task_;
    bool first_;
    bool last_;
    std::vector<Linear> parameters_;
    GradientSum gradients_;
    std::map<Microbatch, Samples> data_; ///< of the samples that pass, on the first and the last stage
    std::map<Piece, double> losses_;     ///< each piece's share of its micro-batch's loss
    std::map<Piece, Kept> kept_;
    std::int64_t kept_bytes_ = 0;
};

} // namespace bubblescope::runtime
