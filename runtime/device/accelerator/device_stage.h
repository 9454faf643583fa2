#pragma once

#include "runtime/device/accelerator/device_block.h"
#include "runtime/model/stage_model.h"

#include <map>
#include <memory>
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
    /// Of digests made on the device, so it differs from the host's for the same weights. Waits for the device.
    [[nodiscard]] std::uint64_t digest(std::uint64_t hash) const override;

    [[nodiscard]] DeviceParameters<T>& parameters() { return parameters_; }

private:
    using Block = DeviceBlock<T>;

    struct Kept {
        std::vector<typename Block::Kept> blocks;
        Buffer tokens; ///< first and last stage
        Buffer targets;
        Buffer embedding_grad;       ///< first stage, I to W
        DeviceNormalised normalised; ///< last stage, F to W; its deviations to I
        Buffer logits_grad;          ///< last stage, F to W
        Buffer normalised_grad;      ///< last stage, I to W
        bool returned = false;       ///< I has run

        [[nodiscard]] std::int64_t bytes() const;
    };

    [[nodiscard]] int begin(Piece piece) const { return config_.sequence * piece.slice / task_.slices; }
    /// Positions of the piece's slice in its sequence.
    [[nodiscard]] int length(Piece piece) const { return begin({piece.sample, piece.slice + 1}) - begin(piece); }
    [[nodiscard]] std::int64_t tokens(Piece piece) const { return std::int64_t{config_.batch} * length(piece); }
    [[nodiscard]] Block block(std::size_t i) const;
    [[nodiscard]] std::size_t head() const { return parameters_.parts() - 1; }
    /// The buffer of a tensor of this stage's queue; checks its shape.
    [[nodiscard]] Buffer take(Tensor tensor, Piece piece) const;
    [[nodiscard]] Tensor give(Buffer buffer, Piece piece) const;
    void makeTokens(Piece piece, Kept& keep) const;
    [[nodiscard]] Buffer embed(Piece piece, const Kept& keep) const;
    void embeddingGradient(Piece piece, const Kept& keep, DeviceGradientSum::Target target) const;
    void finish(Piece piece, const Buffer& output, Kept& keep);
    [[nodiscard]] std::size_t numberOf(Piece piece) const;
    [[nodiscard]] Kept& kept(Piece piece);
    [[nodiscard]] std::vector<typename Block::Kept*> earlierSlices(Piece piece, std::size_t block);

    std::shared_ptr<RankQueue> queue_;
    ModelConfig config_;
    StageTask task_;
    bool first_;
    bool last_;
    DeviceParameters<T> parameters_;
    DeviceLayers<T> layers_;
    DeviceGradientSum gradients_;
    Buffer text_;                ///< first and last stage
    Buffer losses_;              ///< last stage: each piece's share of its micro-batch's loss
    std::vector<bool> has_loss_; ///< by piece, since takeLoss()
    std::map<Piece, Kept> kept_;
    std::int64_t kept_bytes_ = 0;
    std::int64_t step_ = 0;
};

} // namespace bubblescope::runtime
