#pragma once

#include "runtime/model/attention.h"

#include <array>
#include <span>

namespace bubblescope::runtime {

/// A pre-norm transformer block: y = x + projection(attention(qkv(ln1(x)))), then y + fc2(gelu(fc1(ln2(y)))). The
/// backward consists of two halves, which schedules may run separately.
template <class T>
class TransformerBlock {
public:
    using Parts = BlockParts;

    /// What is kept of a piece between its ops. F fills all of it but the gradients; I adds those of each part's output
    /// and frees what only it needed. The inputs of linear layers are recomputed from the saved normalisations: that is
    /// cheap and saves memory.
    struct Saved {
        Normalised ln1; ///< until W; its deviations until I
        Buffer qkv;     ///< until I
        Buffer weights; ///< of attention, until I; empty if they are recomputed
        Buffer attended;
        Normalised ln2;
        Buffer hidden;                                  ///< before GELU
        Buffer later_grad;                              ///< of keys and values, from later slices, in float
        std::array<Buffer, Parts::kParts> output_grads; ///< from I to W

        [[nodiscard]] std::int64_t bytes() const;
    };

    /// `layers` hold the block's parameters; `heads` is the number of heads on this rank.
    TransformerBlock(const Layers<T>& layers, int batch, int heads)
        : layers_(layers), attention_(layers_, {batch, heads, layers.columns(Parts::kQkv) / 3}) {}
    TransformerBlock(const TransformerBlock&) = delete;
    TransformerBlock& operator=(const TransformerBlock&) = delete;

    /// `earlier` are the preceding slices of the same sequences.
    [[nodiscard]] Buffer forward(Buffer input, std::int64_t tokens, std::span<Saved* const> earlier,
                                 Saved& saved) const;
    /// The slices of a sequence come back from last to first.
    [[nodiscard]] Buffer backwardInput(Buffer output_grad, std::int64_t tokens, std::span<Saved* const> earlier,
                                       Saved& saved) const;
    void backwardWeight(const Saved& saved, std::int64_t tokens, GradientSum::Target target) const;

private:
    void show(CheckedTensor tensor, const Buffer& values) const { layers_.show(tensor, values); }
    [[nodiscard]] std::int64_t width() const { return layers_.columns(Parts::kLn1); }

    Layers<T> layers_;
    Attention<T> attention_;
};

} // namespace bubblescope::runtime
