#pragma once

#include "runtime/model/captured_layer.h"
#include "runtime/model/known_answers.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_model.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// One stage of the GPT that ModelConfig describes, on an accelerator, with activations stored as T. Weights depend on
/// the seed and the block's number in the complete model, and data depends on the seed, step and micro-batch. The
/// results do not depend on the division of blocks into stages, or on the assignment of stages to ranks. If
/// micro-batches of sequences of n tokens are split into k slices, slice i has the tokens i·n/k … (i+1)·n/k − 1.
/// Attention uses the preceding slices, so slices must pass through a stage in order, and return in the opposite order.
/// If ranks share the stage, each has a GptStage (see TensorShard). Parameters held by all ranks of a stage stay
/// bit-identical, because the ranks compute them from identical values.
///
/// Each op is one call. Calls queue their work and return; on the CPU, the work is complete by then. The activations
/// and gradients that a stage receives and returns belong to its queue.
template <class T>
class GptStage final : public StageModel {
public:
    GptStage(std::shared_ptr<ComputeQueue> queue, const ModelConfig& config, StageTask task);
    GptStage(const GptStage&) = delete;
    GptStage& operator=(const GptStage&) = delete;

    [[nodiscard]] Tensor forward(Piece piece, Tensor input) override;
    [[nodiscard]] Tensor backwardInput(Piece piece, Tensor output_grad) override;
    void backwardWeight(Piece piece) override;
    void forget(Piece piece) override;
    void offload(Piece piece) override;
    void reload(Piece piece) override;
    void recompute(Piece piece) override;
    void rehearse(OpKind kind, Piece piece) override;
    void endRehearsal() override;
    [[nodiscard]] Tensor takeGradient() override;
    [[nodiscard]] Tensor takeWeights() override;
    void setWeights(Tensor weights, std::int64_t steps) override;
    void applyGradient(const Tensor& sum) override;
    /// Waits for the device.
    [[nodiscard]] double takeLoss() override;
    [[nodiscard]] int sumsIn(OpKind kind) const override;
    [[nodiscard]] MemoryUse memory() const override;
    [[nodiscard]] LayerRange layers() const override;
    /// Also passes the rounded copy used in matrix products to the probe, if such a copy exists.
    void showWeights(int layer, LayerProbe& probe) override;
    void computeKnown(CheckedTensor tensor, LayerProbe& probe) override;
    /// On a device with separate memory, the digest is computed on the device. Waits for the device.
    [[nodiscard]] std::uint64_t digest(std::uint64_t hash) const override;

    [[nodiscard]] StageParameters<T>& parameters() { return parameters_; }

private:
    using Block = TransformerBlock<T>;
    using Layer = typename CapturedGptLayer<T>::Layer;

    /// The data stored for a piece between its ops.
    struct SavedActivations {
        std::vector<typename Block::Saved> blocks;
        Buffer tokens; ///< tokens, on the first and last stage; as data, they are not counted as activations
        Buffer targets;
        Buffer embedding_grad;                    ///< kept from I to W, on the first stage
        typename Head<T>::Saved head;             ///< on the last stage
        Buffer input;                             ///< kept by an F that will be recomputed, if it has an input
        bool returned = false;                    ///< true if op I has run
        std::vector<std::vector<std::byte>> host; ///< the other buffers while they are offloaded, in order of forEach()

        /// Calls `visit` for each buffer of activations.
        template <class Visit>
        void forEach(Visit visit);
        [[nodiscard]] std::int64_t bytes() const;
    };
    /// A part of a layer while it is being computed, with a captured copy if the watch requests one.
    class Watched;

    [[nodiscard]] PieceRows rowsOf(Piece piece) const;
    [[nodiscard]] std::int64_t tokens(Piece piece) const { return rowsOf(piece).tokens(); }
    [[nodiscard]] int headsHere() const { return config_.heads / task_.shard.size; }
    // The layer number of a block for a watch (LayerCall).
    [[nodiscard]] int blockNumber(std::size_t i) const {
        return 1 + config_.layersBefore(task_.place) + static_cast<int>(i);
    }
    [[nodiscard]] int headNumber() const { return 1 + config_.layersBefore(task_.places); }
    [[nodiscard]] ParameterView<T> parametersOf(int layer) const;
    [[nodiscard]] Block block(std::size_t i, const LayerPlace& place) const {
        return Block(Layers<T>(place, parametersOf(blockNumber(i))), config_.batch, headsHere());
    }
    [[nodiscard]] Embedding<T> embedding(const LayerPlace& place) const {
        return Embedding<T>(Layers<T>(place, parametersOf(0)));
    }
    [[nodiscard]] Head<T> head(const LayerPlace& place) const {
        return Head<T>(Layers<T>(place, parametersOf(headNumber())));
    }

    /// A tensor of the shape that a neighbour would send.
    [[nodiscard]] Tensor blank(Piece piece) const;
    void makeTokens(Piece piece, SavedActivations& saved) const;
    /// Computes the layers; if `keep` is true, stores the data that the backward needs.
    [[nodiscard]] Buffer forwardLayers(Piece piece, Buffer input, SavedActivations& saved, bool keep);
    /// The number of micro-batches whose gradients an update applies.
    [[nodiscard]] int microbatchesOf(int update) const;
    [[nodiscard]] int versionOf(Piece piece) const { return task_.version_of[piece.sample.index()]; }
    /// Selects the weights for an op of the piece.
    void showVersion(Piece piece);
    // These functions pass their results to the watch.
    [[nodiscard]] Buffer forwardEmbedding(Piece piece, const SavedActivations& saved);
    [[nodiscard]] Buffer forwardBlock(Piece piece, std::size_t i, Buffer input, SavedActivations& saved);
    void forwardHead(Piece piece, Buffer input, SavedActivations& saved);
    [[nodiscard]] Buffer backwardHead(Piece piece, SavedActivations& saved);
    [[nodiscard]] Buffer backwardBlock(Piece piece, std::size_t i, Buffer grad, SavedActivations& saved);
    [[nodiscard]] Buffer backwardEmbedding(Piece piece, Buffer grad);
    void weightsOfEmbedding(Piece piece, SavedActivations& saved);
    void weightsOfBlock(Piece piece, std::size_t i, SavedActivations& saved);
    void weightsOfHead(Piece piece, SavedActivations& saved);
    /// Keeps what W would compute with the weights.
    void keepScaled(Piece piece, SavedActivations& saved);
    [[nodiscard]] std::size_t numberOf(Piece piece) const;
    [[nodiscard]] SavedActivations& savedOf(Piece piece);
    [[nodiscard]] std::vector<typename Block::Saved*> earlierSlices(Piece piece, std::size_t block);

    std::shared_ptr<ComputeQueue> queue_;
    ModelConfig config_;
    StageTask task_;
    bool first_;
    bool last_;
    StageParameters<T> parameters_;
    std::optional<KnownComputation<T>> known_; ///< created for the first known answer
    GradientSum gradients_;
    Buffer text_copy_;                    ///< copy on the first and last stage if the device cannot read host memory
    const unsigned char* text_ = nullptr; ///< address from which the device reads the text
    Buffer losses_;                       ///< on the last stage: each piece's share of its micro-batch's loss
    std::vector<bool> has_loss_;          ///< by piece: true for pieces with a loss since takeLoss()
    std::map<Piece, SavedActivations> saved_;
    std::int64_t saved_bytes_ = 0;
    std::int64_t step_ = 0;        ///< number of updates so far
    std::vector<int> pieces_left_; ///< number of pieces of this step not yet done, by version, if there are several
                                   ///< updates
    bool rehearsing_ = false;
    bool recomputing_ = false;
};

} // namespace bubblescope::runtime
