#pragma once

#include "runtime/model/attention.h"

#include <array>
#include <span>

namespace bubblescope::runtime {

/// A pre-norm transformer block: x + projection(attention(qkv(ln1(x)))), and onto that fc2(gelu(fc1(ln2(…)))). The
/// backward is in two halves, which schedules may run apart.
template <class T>
class TransformerBlock {
public:
    using Parts = BlockParts;

    /// What a piece leaves behind between its ops. F fills all of it but the gradients; I adds those for each part's
    /// output and frees what only it needed. Inputs of the linears are made again from what is saved of the
    /// normalisations: that is cheap and saves memory.
    struct Saved {
        Normalised ln1; ///< to W; its deviations to I
        Buffer qkv;     ///< to I
        Buffer weights; ///< of attention, to I; empty where they are made again
        Buffer attended;
        Normalised ln2;
        Buffer hidden;                                  ///< before GELU
        Buffer later_grad;                              ///< for keys and values, from later slices, in float
        std::array<Buffer, Parts::kParts> output_grads; ///< I to W

        [[nodiscard]] std::int64_t bytes() const;
    };

    /// `layers` have the block's parameters, `shape` the heads of this rank.
    TransformerBlock(const Layers<T>& layers, int batch, int heads)
        : layers_(layers), attention_(layers_, {batch, heads, layers.columns(Parts::kQkv) / 3}) {}
    TransformerBlock(const TransformerBlock&) = delete;
    TransformerBlock& operator=(const TransformerBlock&) = delete;

    /// `earlier` are those of the same sequences' slices before this one.
    [[nodiscard]] Buffer forward(Buffer input, std::int64_t tokens, std::span<Saved* const> earlier,
                                 Saved& saved) const;
    /// Slices of a sequence come back last to first.
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
