#pragma once

#include "runtime/model/layers.h"

#include <cstdint>

namespace bubblescope::runtime {

// The first and last layer of a GPT, with interfaces like TransformerBlock's.

/// The first layer: the sum of the token's and the position's embedding. Its parameters are both tables; the gradient
/// of its input equals that of its output.
template <class T>
class Embedding {
public:
    explicit Embedding(const Layers<T>& layers) : layers_(layers) {}

    /// `tokens`: one int per row.
    [[nodiscard]] Buffer forward(const Buffer& tokens, const PieceRows& rows) const;
    void backwardWeight(const Buffer& tokens, const Buffer& output_grad, const PieceRows& rows,
                        GradientSum::Target target) const;

private:
    [[nodiscard]] std::int64_t width() const { return layers_.columns(0); }
    [[nodiscard]] std::int64_t vocabulary() const { return layers_.parameters().part(0).rows; }

    Layers<T> layers_;
};

/// The last layer: a normalisation, a linear layer that computes logits, and the cross-entropy with the following
/// tokens. Its parameters are those of the first two.
template <class T>
class Head {
public:
    /// Activations of a piece that are kept between its ops.
    struct Saved {
        Normalised normalised;  ///< until W; its deviations until I
        Buffer logits_grad;     ///< until W
        Buffer normalised_grad; ///< from I to W

        [[nodiscard]] std::int64_t bytes() const {
            return normalised.bytes() + logits_grad.bytes() + normalised_grad.bytes();
        }
    };

    explicit Head(const Layers<T>& layers) : layers_(layers) {}

    /// `targets`: one int per row. Writes the piece's share of its micro-batch's mean loss to `loss`; gradients are
    /// those of this share.
    void forward(const Buffer& input, const Buffer& targets, const PieceRows& rows, Saved& saved, double* loss) const;
    /// Fills `normalised_grad`.
    [[nodiscard]] Buffer backwardInput(const Saved& saved, Buffer& normalised_grad, const PieceRows& rows) const;
    void backwardWeight(const Saved& saved, const PieceRows& rows, GradientSum::Target target) const;

private:
    enum : std::size_t { kNorm, kLinear };

    Layers<T> layers_;
};

} // namespace bubblescope::runtime
