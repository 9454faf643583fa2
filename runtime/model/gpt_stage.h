#pragma once

#include "runtime/model/gradient_sum.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_model.h"
#include "runtime/model/transformer_block.h"

#include <map>
#include <span>
#include <vector>

namespace bubblescope::runtime {

/// One stage of the GPT that ModelConfig describes. Weights follow from (seed, number of the block in the whole model),
/// data from (seed, step, micro-batch), so any cut of the same blocks into stages, and of stages into ranks, computes
/// the same numbers. Slice i of k of a micro-batch of sequences of T tokens has their tokens i·T/k … (i+1)·T/k − 1;
/// attention sees the slices before, which therefore must pass a stage in order, and come back in the opposite one.
/// Where ranks share the stage each has a GptStage of its own, see TensorShard; what they hold whole stays equal bit
/// for bit, since all compute it from equal numbers.
class GptStage final : public StageModel {
public:
    GptStage(const ModelConfig& config, StageTask task);

    [[nodiscard]] Tensor forward(Piece piece, Tensor input) override;
    [[nodiscard]] Tensor backwardInput(Piece piece, Tensor output_grad) override;
    void backwardWeight(Piece piece) override;
    [[nodiscard]] Tensor takeGradient() override;
    void applyGradient(const Tensor& sum) override;
    [[nodiscard]] double takeLoss() override;
    [[nodiscard]] int sumsIn(OpKind kind) const override;
    [[nodiscard]] MemoryUse memory() const override;
    [[nodiscard]] std::uint64_t digest(std::uint64_t hash) const override;

    /// As stageLayout() lists them.
    [[nodiscard]] Parameters<float>& parameters() { return parameters_; }

private:
    using Block = TransformerBlock<float>;

    /// What a piece leaves behind between its ops.
    struct Kept {
        std::vector<Block::Kept> blocks;
        Matrix<float> embedding_grad;  ///< first stage, I to W
        Normalised<float> normalised;  ///< last stage, F to W; its deviations to I
        Matrix<float> logits_grad;     ///< last stage, F to W
        Matrix<float> normalised_grad; ///< last stage, I to W
        bool returned = false;         ///< I has run

        [[nodiscard]] std::int64_t bytes() const;
    };

    void initialise();
    [[nodiscard]] Block block(int i) const;
    [[nodiscard]] std::size_t firstBlock() const { return first_ ? 2 : 0; }
    [[nodiscard]] Matrix<float> embed(Piece piece) const;
    [[nodiscard]] Parameters<float> embeddingGradient(Piece piece, const Matrix<float>& grad) const;
    /// Loss and its gradient, from the last block's output.
    void finish(Piece piece, const Matrix<float>& output, Kept& keep);
    /// Of this piece's slice, token by token; positions count within the sequence.
    struct Tokens {
        std::vector<int> tokens;
        std::vector<int> targets;
        std::vector<int> positions;
    };
    [[nodiscard]] Tokens tokensOf(Piece piece) const;
    [[nodiscard]] Kept& kept(Piece piece);
    /// Of one block, the slices before this piece's.
    [[nodiscard]] std::vector<Block::Kept*> earlierSlices(Piece piece, std::size_t block);
    [[nodiscard]] std::vector<ParameterRun> runs();
    [[nodiscard]] std::int64_t parameterCount() const;

    ModelConfig config_;
    StageTask task_;
    bool first_;
    bool last_;
    std::int64_t step_ = 0;
    Parameters<float> parameters_;
    std::vector<bool> decays_; ///< by part, its weights
    AdamW optimizer_;
    GradientSum gradients_;
    std::map<Piece, double> losses_; ///< each piece's share of its micro-batch's loss
    std::map<Piece, Kept> kept_;
    std::int64_t kept_bytes_ = 0;
};

} // namespace bubblescope::runtime
