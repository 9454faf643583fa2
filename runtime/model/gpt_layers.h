#pragma once

#include "runtime/model/layers.h"

#include <cstdint>

namespace bubblescope::runtime {

// The ends of a GPT, in the manner of TransformerBlock.

/// The first layer: the sum of a token's and its position's embedding. Its parameters are both tables; the gradient for
/// its input is that for its output.
template <class T>
class Embedding {
public:
    explicit Embedding(const Layers<T>& layers) : layers_(layers) {}

    /// `tokens`: an int per row.
    [[nodiscard]] Buffer forward(const Buffer& tokens, const PieceRows& rows) const;
    void backwardWeight(const Buffer& tokens, const Buffer& output_grad, const PieceRows& rows,
                        GradientSum::Target target) const;

private:
    [[nodiscard]] std::int64_t width() const { return layers_.columns(0); }
    [[nodiscard]] std::int64_t vocabulary() const { return layers_.parameters().part(0).rows; }

    Layers<T> layers_;
};

/// The last layer: a normalisation, a linear part whose outputs are logits, and the cross-entropy with the tokens that
/// follow. Its parameters are those of the first two.
template <class T>
class Head {
public:
    /// What a piece leaves behind between its ops.
    struct Saved {
        Normalised normalised;  ///< to W; its deviations to I
        Buffer logits_grad;     ///< to W
        Buffer normalised_grad; ///< from I to W

        [[nodiscard]] std::int64_t bytes() const {
            return normalised.bytes() + logits_grad.bytes() + normalised_grad.bytes();
        }
    };

    explicit Head(const Layers<T>& layers) : layers_(layers) {}

    /// `targets`: an int per row. Leaves in `loss` the piece's share of its micro-batch's mean loss, of which the
    /// gradient is made.
    void forward(const Buffer& input, const Buffer& targets, const PieceRows& rows, Saved& saved, double* loss) const;
    /// `normalised_grad` is filled.
    [[nodiscard]] Buffer backwardInput(const Saved& saved, Buffer& normalised_grad, const PieceRows& rows) const;
    void backwardWeight(const Saved& saved, const PieceRows& rows, GradientSum::Target target) const;

private:
    enum : std::size_t { kNorm, kLinear };

    Layers<T> layers_;
};

} // namespace bubblescope::runtime
