#pragma once

#include "runtime/model/tensor.h"

#include <span>
#include <vector>

namespace bubblescope::runtime {

// The maths of a transformer's parts, each as forward, gradient for the input and gradient for the weights, so that
// schedules can run the last two apart. Everything is a pure function of its arguments. Instantiated for float and
// double.

/// What one part learns: of y = x·weight + bias, of a normalisation (weight = one row of gains) or of a table of
/// embeddings (a row per entry, no bias). Also the shape of its gradients.
template <class Scalar>
struct Weights {
    Matrix<Scalar> weight;
    Row<Scalar> bias;
};

template <class Scalar>
using Parameters = std::vector<Weights<Scalar>>;

// ---- Linear: y = x·weight + bias
template <class Scalar>
[[nodiscard]] Matrix<Scalar> apply(const Weights<Scalar>& linear, const Matrix<Scalar>& input);
template <class Scalar>
[[nodiscard]] Matrix<Scalar> inputGradient(const Weights<Scalar>& linear, const Matrix<Scalar>& output_grad);
template <class Scalar>
[[nodiscard]] Weights<Scalar> weightGradient(const Matrix<Scalar>& input, const Matrix<Scalar>& output_grad);

// ---- GELU in its tanh form (Hendrycks and Gimpel 2016)
template <class Scalar>
[[nodiscard]] Matrix<Scalar> gelu(const Matrix<Scalar>& x);
template <class Scalar>
[[nodiscard]] Matrix<Scalar> geluDerivative(const Matrix<Scalar>& x);

// ---- Layer normalisation (Ba, Kiros and Hinton 2016): y = x̂ ∘ gain + bias, x̂ = (x − mean) / deviation by row
template <class Scalar>
struct Normalised {
    Matrix<Scalar> values;             ///< x̂
    Column<Scalar> inverse_deviations; ///< by row

    [[nodiscard]] std::int64_t bytes() const { return bytesOf(values) + bytesOf(inverse_deviations); }
};

template <class Scalar>
[[nodiscard]] Normalised<Scalar> normalise(const Matrix<Scalar>& x);
template <class Scalar>
[[nodiscard]] Matrix<Scalar> scaled(const Weights<Scalar>& norm, const Matrix<Scalar>& normalised);
template <class Scalar>
[[nodiscard]] Matrix<Scalar> normInputGradient(const Weights<Scalar>& norm, const Normalised<Scalar>& normalised,
                                               const Matrix<Scalar>& output_grad);
template <class Scalar>
[[nodiscard]] Weights<Scalar> normWeightGradient(const Matrix<Scalar>& normalised, const Matrix<Scalar>& output_grad);

// ---- Causal self-attention (Vaswani et al. 2017)

/// How rows and columns are laid out: `batch` sequences of equal length one after the other; of columns, the queries
/// of all heads, then the keys, then the values.
struct AttentionShape {
    int batch = 1;
    int heads = 1;
};

/// Softmax weights of each sequence and head: rows are queries, columns all tokens up to the last of this slice.
template <class Scalar>
using AttentionWeights = std::vector<Matrix<Scalar>>;

/// Where a sequence is cut into slices, `earlier` are the columns (queries, keys, values) of the slices before this
/// one, in their order. Fills `weights`.
template <class Scalar>
[[nodiscard]] Matrix<Scalar> attend(const Matrix<Scalar>& columns, std::span<const Matrix<Scalar>* const> earlier,
                                    AttentionShape shape, AttentionWeights<Scalar>& weights);

/// Gradient for `columns`; what falls on keys and values of earlier slices is added to `earlier_grads` (as wide as
/// the columns, queries untouched).
template <class Scalar>
[[nodiscard]] Matrix<Scalar> attendGradient(const Matrix<Scalar>& output_grad, const Matrix<Scalar>& columns,
                                            std::span<const Matrix<Scalar>* const> earlier, AttentionShape shape,
                                            const AttentionWeights<Scalar>& weights,
                                            std::span<Matrix<Scalar>* const> earlier_grads);

// ---- Cross-entropy of a softmax over the columns
template <class Scalar>
struct CrossEntropy {
    double sum = 0;             ///< over the rows
    Matrix<Scalar> logits_grad; ///< of `share` times the sum
};

template <class Scalar>
[[nodiscard]] CrossEntropy<Scalar> crossEntropy(Matrix<Scalar> logits, std::span<const int> targets, Scalar share);

} // namespace bubblescope::runtime
