#pragma once

#include "core/base/result.h"
#include "runtime/model/gpt_layers.h"
#include "runtime/model/layer_watch.h"
#include "runtime/model/transformer_block.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bubblescope::runtime {

/// Adds up parts with others and remembers what came out, for a replay that cannot ask them again.
class RecordedSums final : public ShardSums<float> {
public:
    /// Both must outlive it.
    RecordedSums(ShardSums<float>& sums, std::vector<Matrix<float>>& results) : sums_(sums), results_(results) {}
    void addUp(Matrix<float>& part) override {
        sums_.addUp(part);
        results_.push_back(part);
    }

private:
    ShardSums<float>& sums_;
    std::vector<Matrix<float>>& results_;
};

/// A part of a layer of a GptStage with copies of its inputs. Where ranks share the layer, the parts of its sums are
/// computed again and the sums are those of the first time.
class GptReplay final : public LayerReplay {
public:
    enum class Layer : std::uint8_t { Embedding, Block, Head };

    /// `weights` are the layer's; they must not change before run(), unless detached.
    GptReplay(LayerPart part, Layer layer, std::span<const Weights<float>> weights)
        : part_(part), layer_(layer), weights_(weights) {}

    void run(LayerProbe& probe) const override;
    [[nodiscard]] std::int64_t bytes() const override;
    void detach() override;
    [[nodiscard]] bool pack(WireWriter& wire) const override;
    /// What pack() has written, detached. Error: Input, where the bytes are no layer that can be run: whatever they
    /// are, what comes back can be.
    [[nodiscard]] static Result<std::unique_ptr<GptReplay>> unpack(WireReader& wire);

    // What its part of its layer takes.
    Matrix<float> input; ///< of a forward; gradient for the output of a backward
    PieceTokens tokens;
    AttentionShape shape;
    float share = 0;
    TransformerBlock<float>::Kept kept; ///< as it was before
    std::vector<TransformerBlock<float>::Kept> earlier;
    HeadKept head;
    bool shared = false;
    std::vector<Matrix<float>> sums;

private:
    void runEmbedding(LayerProbe& probe) const;
    void runBlock(LayerProbe& probe) const;
    void runHead(LayerProbe& probe) const;
    // Whether all tensors have the shapes that run() takes.
    [[nodiscard]] bool fits() const;
    [[nodiscard]] bool embeddingFits() const;
    [[nodiscard]] bool blockFits() const;
    [[nodiscard]] bool headFits() const;

    LayerPart part_;
    Layer layer_;
    std::span<const Weights<float>> weights_;
    Parameters<float> own_weights_; ///< when detached
};

} // namespace bubblescope::runtime
