#pragma once

#include "runtime/model/layer_watch.h"
#include "runtime/model/layers.h"
#include "runtime/model/tensor_shard.h"

#include <array>
#include <cstdint>
#include <span>

namespace bubblescope::runtime {

/// One layer of a GPT (Radford et al. 2019): x + attention(norm(x)), then y + mlp(norm(y)), the MLP four times as wide
/// with a GELU between. Its forward and its two backwards hand what they need from each other through `Kept`; nothing
/// else is remembered. Instantiated for float and double.
template <class Scalar>
class TransformerBlock {
public:
    /// Places in the block's parameters.
    enum Part : std::size_t { kNormBefore, kColumns, kProjection, kNormBetween, kUp, kDown, kParts };

    /// Of one piece, between its ops.
    struct Kept {
        Normalised<Scalar> before;                       ///< F to W; its deviations to I
        Matrix<Scalar> columns;                          ///< queries, keys, values: F to I
        AttentionWeights<Scalar> weights;                ///< F to I
        Matrix<Scalar> attended;                         ///< F to W
        Normalised<Scalar> between;                      ///< as `before`
        Matrix<Scalar> up;                               ///< before the GELU: F to W
        Matrix<Scalar> later_grad;                       ///< for `columns`, from later slices: added to by their I
        std::array<Matrix<Scalar>, kParts> output_grads; ///< for each part's output: I to W

        [[nodiscard]] std::int64_t bytes() const;
        /// True between I and W.
        [[nodiscard]] bool hasGradients() const { return output_grads[kDown].size() > 0; }
    };

    /// How many sums a forward, or the input half of a backward, takes where ranks share the block.
    static constexpr int kSums = 2;

    /// `parameters` are the block's own: kParts entries; they must outlive the block. Where ranks share it they are
    /// this rank's share, `shape` has its heads, and `sums` joins it to the others; null where the block is whole.
    /// `probe` is shown what is computed in single precision; null for none.
    TransformerBlock(std::span<const Weights<Scalar>> parameters, AttentionShape shape,
                     ShardSums<Scalar>* sums = nullptr, LayerProbe* probe = nullptr)
        : parameters_(parameters), shape_(shape), sums_(sums), probe_(probe) {}

    /// `earlier` are those of the same sequences' slices before this one.
    [[nodiscard]] Matrix<Scalar> forward(Matrix<Scalar> input, std::span<Kept* const> earlier, Kept& kept) const;
    /// Slices of a sequence come back last to first.
    [[nodiscard]] Matrix<Scalar> backwardInput(Matrix<Scalar> output_grad, std::span<Kept* const> earlier,
                                               Kept& kept) const;
    /// One entry per part.
    [[nodiscard]] Parameters<Scalar> backwardWeight(const Kept& kept) const;

private:
    template <class Values>
    void show(CheckedTensor tensor, Values& values) const;
    /// Of a linear whose rows are shared out: each rank has part of the sum that a product is.
    [[nodiscard]] Matrix<Scalar> applyRows(const Weights<Scalar>& linear, const Matrix<Scalar>& input) const;
    /// Of a linear whose columns are shared out.
    [[nodiscard]] Matrix<Scalar> columnsInputGradient(const Weights<Scalar>& linear,
                                                      const Matrix<Scalar>& output_grad) const;

    std::span<const Weights<Scalar>> parameters_;
    AttentionShape shape_;
    ShardSums<Scalar>* sums_;
    LayerProbe* probe_;
};

} // namespace bubblescope::runtime
