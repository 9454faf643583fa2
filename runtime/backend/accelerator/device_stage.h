#pragma once

#include "runtime/backend/accelerator/device_known.h"
#include "runtime/backend/accelerator/device_replay.h"
#include "runtime/model/stage_model.h"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// GptStage on an accelerator: the same model, weights and data, one call per op, with activations stored as T. Calls
/// queue their work and return. Tensors of activations and gradients that it takes and returns belong to its queue.
template <class T>
class DeviceStage final : public StageModel {
public:
    DeviceStage(std::shared_ptr<RankQueue> queue, const ModelConfig& config, StageTask task);
    DeviceStage(const DeviceStage&) = delete;
    DeviceStage& operator=(const DeviceStage&) = delete;

    [[nodiscard]] Tensor forward(Piece piece, Tensor input) override;
    [[nodiscard]] Tensor backwardInput(Piece piece, Tensor output_grad) override;
    void backwardWeight(Piece piece) override;
    [[nodiscard]] Tensor takeGradient() override;
    void applyGradient(const Tensor& sum) override;
    /// Waits for the device.
    [[nodiscard]] double takeLoss() override;
    [[nodiscard]] int sumsIn(OpKind kind) const override;
    [[nodiscard]] MemoryUse memory() const override;
    [[nodiscard]] LayerRange layers() const override { return gpt_.range(); }
    /// What products read too, where that is a copy.
    void showWeights(int layer, LayerProbe& probe) override;
    void computeKnown(CheckedTensor tensor, LayerProbe& probe) override;
    /// Of digests made on the device, so it differs from the host's for the same weights. Waits for the device.
    [[nodiscard]] std::uint64_t digest(std::uint64_t hash) const override;

    [[nodiscard]] DeviceParameters<T>& parameters() { return parameters_; }

private:
    using Block = DeviceBlock<T>;

    struct Kept {
        std::vector<typename Block::Kept> blocks;
        Buffer tokens; ///< first and last stage
        Buffer targets;
        Buffer embedding_grad;            ///< first stage, I to W
        typename DeviceGpt<T>::Head head; ///< last stage
        bool returned = false;            ///< I has run

        [[nodiscard]] std::int64_t bytes() const;
    };

    [[nodiscard]] int begin(Piece piece) const { return config_.sequence * piece.slice / task_.slices; }
    /// Positions of the piece's slice in its sequence.
    [[nodiscard]] int length(Piece piece) const { return begin({piece.sample, piece.slice + 1}) - begin(piece); }
    [[nodiscard]] std::int64_t tokens(Piece piece) const { return std::int64_t{config_.batch} * length(piece); }
    [[nodiscard]] DeviceRows rowsOf(Piece piece) const { return {tokens(piece), begin(piece), length(piece)}; }
    /// A part of a layer while it is computed, and what is kept of it if the watch wants that.
    class Watched;
    using Layer = typename DeviceReplay<T>::Layer;
    /// The buffer of a tensor of this stage's queue; checks its shape.
    [[nodiscard]] Buffer take(Tensor tensor, Piece piece) const;
    [[nodiscard]] Tensor give(Buffer buffer, Piece piece) const;
    void makeTokens(Piece piece, Kept& keep) const;
    // Each with what the watch is to be told.
    [[nodiscard]] Buffer forwardEmbedding(Piece piece, const Kept& keep);
    [[nodiscard]] Buffer forwardBlock(Piece piece, std::size_t i, Buffer input, Kept& keep);
    void forwardHead(Piece piece, Buffer input, Kept& keep);
    [[nodiscard]] Buffer backwardHead(Piece piece, Kept& keep);
    [[nodiscard]] Buffer backwardBlock(Piece piece, std::size_t i, Buffer grad, Kept& keep);
    [[nodiscard]] Buffer backwardEmbedding(Piece piece, Buffer grad);
    void weightsOfEmbedding(Piece piece, Kept& keep, DeviceGradientSum::Target target);
    void weightsOfBlock(Piece piece, std::size_t i, Kept& keep, DeviceGradientSum::Target target);
    void weightsOfHead(Piece piece, Kept& keep, DeviceGradientSum::Target target);
    [[nodiscard]] std::size_t numberOf(Piece piece) const;
    [[nodiscard]] Kept& kept(Piece piece);
    [[nodiscard]] std::vector<typename Block::Kept*> earlierSlices(Piece piece, std::size_t block);

    std::shared_ptr<RankQueue> queue_;
    ModelConfig config_;
    StageTask task_;
    bool first_;
    bool last_;
    DeviceParameters<T> parameters_;
    DeviceGpt<T> gpt_;
    std::optional<DeviceGpt<T>> again_;   ///< on the queue of checks; from the first replay on
    std::optional<DeviceKnown<T>> known_; ///< from the first known answer on
    DeviceGradientSum gradients_;
    Buffer text_;                ///< first and last stage
    Buffer losses_;              ///< last stage: each piece's share of its micro-batch's loss
    std::vector<bool> has_loss_; ///< by piece, since takeLoss()
    std::map<Piece, Kept> kept_;
    std::int64_t kept_bytes_ = 0;
    std::int64_t step_ = 0;
};

} // namespace bubblescope::runtime
