#pragma once

#include "runtime/model/linear.h"
#include "runtime/model/stage_model.h"
#include "runtime/model/synthetic.h"
#include "runtime/run.h"

#include <map>
#include <vector>

namespace bubblescope::runtime {

/// A stage of the model that ModelConfig describes: blocks x + gelu(x·weight + bias); the last stage adds a
/// linear head with one output and the mean squared error. Parameters follow from (seed, stage), data from
/// (seed, micro-batch), so any cut of the same stages into ranks computes the same numbers.
class MlpStage final : public StageModel {
public:
    MlpStage(const ModelConfig& config, Stage stage, int stages, int microbatches);

    [[nodiscard]] Tensor forward(Microbatch microbatch, Tensor input) override;
    [[nodiscard]] Tensor backwardInput(Microbatch microbatch, Tensor output_grad) override;
    void backwardWeight(Microbatch microbatch) override;
    void applyGradients() override;
    [[nodiscard]] double takeLoss() override;
    [[nodiscard]] std::uint64_t digest(std::uint64_t hash) const override;

    /// The blocks' parameters in order, then the head's where there is one.
    [[nodiscard]] std::vector<Linear>& parameters() { return parameters_; }
    /// Sum over micro-batches since the last O, as O will use it; starts the sum anew.
    [[nodiscard]] std::vector<Linear> takeGradients() { return gradients_.take(microbatches_); }

private:
    /// What a micro-batch leaves behind between its ops.
    struct Kept {
        std::vector<Tensor> inputs;       ///< of each linear; F to W
        std::vector<Tensor> activated;    ///< arguments of each block's GELU; F to I
        std::vector<Tensor> output_grads; ///< of each linear; I to W
        Tensor loss_grad;                 ///< for the head's output; F to I
    };

    [[nodiscard]] std::size_t blocks() const { return static_cast<std::size_t>(config_.layers_per_stage); }
    [[nodiscard]] Kept& kept(Microbatch microbatch);

    ModelConfig config_;
    int microbatches_;
    bool first_;
    bool last_;
    std::vector<Linear> parameters_;
    GradientSum gradients_;
    std::vector<Samples> data_;  ///< by micro-batch, on the first and the last stage
    std::vector<double> losses_; ///< by micro-batch
    std::map<Microbatch, Kept> kept_;
};

} // namespace bubblescope::runtime
