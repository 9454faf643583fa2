#pragma once

#include "runtime/model/gpt_layers.h"
#include "runtime/model/gpt_replay.h"
#include "runtime/model/gradient_sum.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_model.h"
#include "runtime/model/transformer_block.h"

#include <map>
#include <memory>
#include <optional>
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
    [[nodiscard]] LayerRange layers() const override;
    void showWeights(int layer, LayerProbe& probe) override;
    void computeKnown(CheckedTensor tensor, LayerProbe& probe) override;
    [[nodiscard]] std::uint64_t digest(std::uint64_t hash) const override;

    /// As stageLayout() lists them.
    [[nodiscard]] Parameters<float>& parameters() { return parameters_; }

private:
    using Block = TransformerBlock<float>;

    /// What a piece leaves behind between its ops.
    struct Kept {
        std::vector<Block::Kept> blocks;
        Matrix<float> embedding_grad; ///< first stage, I to W
        HeadKept head;                ///< last stage
        bool returned = false;        ///< I has run

        [[nodiscard]] std::int64_t bytes() const;
    };

    void initialise();
    [[nodiscard]] Block block(int i, ShardSums<float>* sums, LayerProbe* probe) const;
    [[nodiscard]] std::size_t firstBlock() const { return first_ ? 2 : 0; }
    [[nodiscard]] std::span<const Weights<float>> tables() const { return std::span(parameters_).first(2); }
    [[nodiscard]] std::span<const Weights<float>> headParts() const { return std::span(parameters_).last(2); }
    [[nodiscard]] std::span<const Weights<float>> blockWeights(int i) const {
        return std::span(parameters_)
            .subspan(firstBlock() + static_cast<std::size_t>(i) * Block::kParts, Block::kParts);
    }
    [[nodiscard]] std::span<Weights<float>> partsOf(int layer);
    [[nodiscard]] AttentionShape shape() const { return {config_.batch, config_.heads / task_.shard.size}; }
    // Numbers of layers, see LayerCall.
    [[nodiscard]] int blockNumber(int i) const { return 1 + config_.layersBefore(task_.place) + i; }
    [[nodiscard]] int headNumber() const { return 1 + config_.layersBefore(task_.places); }
    /// Of this piece's slice.
    [[nodiscard]] PieceTokens tokensOf(Piece piece) const;

    /// A part of a layer while it is computed, and what is kept of it if the watch wants that.
    class Watched;
    /// Each with what the watch is to be told. Blocks count from the stage's first.
    [[nodiscard]] Matrix<float> forwardEmbedding(Piece piece);
    [[nodiscard]] Matrix<float> forwardBlock(Piece piece, int i, Matrix<float> input, Kept& keep);
    /// Loss and its gradient, from the last block's output.
    void forwardHead(Piece piece, const Matrix<float>& output, Kept& keep);
    [[nodiscard]] Matrix<float> backwardHead(Kept& keep);
    [[nodiscard]] Matrix<float> backwardBlock(Piece piece, int i, Matrix<float> grad, Kept& keep);
    [[nodiscard]] Matrix<float> backwardEmbedding(Matrix<float> grad);
    [[nodiscard]] Parameters<float> weightsOfEmbedding(Piece piece, const Kept& keep);
    [[nodiscard]] Parameters<float> weightsOfBlock(int i, const Kept& keep);
    [[nodiscard]] Parameters<float> weightsOfHead(const Kept& keep);
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
