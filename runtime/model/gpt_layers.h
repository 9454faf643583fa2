#pragma once

#include "runtime/model/layer_watch.h"
#include "runtime/model/layers.h"

#include <span>
#include <vector>

namespace bubblescope::runtime {

// The ends of a GPT, in the manner of TransformerBlock: pure functions of their arguments that show each tensor to a
// probe, which may be null.

/// Of one piece, token by token; positions count within the sequence.
struct PieceTokens {
    std::vector<int> tokens;
    std::vector<int> targets;
    std::vector<int> positions;
};

/// What the head leaves behind between its ops.
struct HeadKept {
    Normalised<float> normalised;  ///< F to W; its deviations to I
    Matrix<float> logits_grad;     ///< F to W
    Matrix<float> normalised_grad; ///< I to W

    [[nodiscard]] std::int64_t bytes() const {
        return normalised.bytes() + bytesOf(logits_grad) + bytesOf(normalised_grad);
    }
};

template <class Values>
void show(LayerProbe* probe, CheckedTensor tensor, Values& values) {
    if (probe != nullptr) probe->touch(tensor, values.data(), values.size());
}

/// `tables`: of tokens and of positions.
[[nodiscard]] Matrix<float> embed(std::span<const Weights<float>> tables, const PieceTokens& data, LayerProbe* probe);
/// The tables' gradient is that of their output.
[[nodiscard]] Matrix<float> embeddingInputGradient(Matrix<float> output_grad, LayerProbe* probe);
[[nodiscard]] Parameters<float> embeddingWeightGradient(std::span<const Weights<float>> tables, const PieceTokens& data,
                                                        const Matrix<float>& output_grad, LayerProbe* probe);

/// `parts`: the final normalisation and the head. Returns the sum of the tokens' losses, of `share` times which `kept`
/// gets the gradient.
[[nodiscard]] double headForward(std::span<const Weights<float>> parts, const PieceTokens& data, float share,
                                 const Matrix<float>& input, HeadKept& kept, LayerProbe* probe);
[[nodiscard]] Matrix<float> headInputGradient(std::span<const Weights<float>> parts, HeadKept& kept, LayerProbe* probe);
[[nodiscard]] Parameters<float> headWeightGradient(std::span<const Weights<float>> parts, const HeadKept& kept,
                                                   LayerProbe* probe);

/// Shows each part's weights and biases.
void showWeights(LayerProbe* probe, CheckedTensor tensor, std::span<Weights<float>> parts);

} // namespace bubblescope::runtime
