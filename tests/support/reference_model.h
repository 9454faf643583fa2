#pragma once

#include "runtime/model/data_plan.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_layout.h"
#include "tests/support/eigen_matrix.h"

#include <array>
#include <map>
#include <span>
#include <vector>

namespace bubblescope::runtime::reference {

// A second, simple implementation of the model in double precision. Results of the accelerators are compared with it,
// and its gradients with finite differences of its forward. Each part has pure functions for the forward, the gradient
// of the input, and the gradient of the weights.

/// Parameters of one part: of y = x·weight + bias, of a normalisation (weight = a row of gains), or of an embedding
/// table (a row per entry, no bias). Gradients have the same shape.
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
    Column<Scalar> inverse_deviations; ///< one per row
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

/// Layout of rows and columns. Rows are `batch` sequences of equal length, one after the other; columns are the queries
/// of all heads, followed by the keys and the values.
struct AttentionShape {
    int batch = 1;
    int heads = 1;
};

/// Softmax weights of each sequence and head. Rows are queries; columns are all tokens up to the end of this slice.
template <class Scalar>
using AttentionWeights = std::vector<Matrix<Scalar>>;

/// If a sequence is divided into slices, `earlier` contains the columns (queries, keys, values) of the previous slices
/// in order. Fills in `weights`.
template <class Scalar>
[[nodiscard]] Matrix<Scalar> attend(const Matrix<Scalar>& columns, std::span<const Matrix<Scalar>* const> earlier,
                                    AttentionShape shape, AttentionWeights<Scalar>& weights);

/// Gradient for `columns`. Gradients for keys and values of earlier slices are added to `earlier_grads`, which is as
/// wide as the columns; its queries do not change.
template <class Scalar>
[[nodiscard]] Matrix<Scalar> attendGradient(const Matrix<Scalar>& output_grad, const Matrix<Scalar>& columns,
                                            std::span<const Matrix<Scalar>* const> earlier, AttentionShape shape,
                                            const AttentionWeights<Scalar>& weights,
                                            std::span<Matrix<Scalar>* const> earlier_grads);

// ---- Cross-entropy of a softmax over the columns
template <class Scalar>
struct CrossEntropy {
    double sum = 0;             ///< sum over the rows
    Matrix<Scalar> logits_grad; ///< gradient of `share` times the sum
};

template <class Scalar>
[[nodiscard]] CrossEntropy<Scalar> crossEntropy(Matrix<Scalar> logits, std::span<const int> targets, Scalar share);

// ---- A whole block: x + attention(norm(x)), then y + mlp(norm(y)) (Radford et al. 2019)

class Block {
public:
    using Parts = BlockParts;
    using M = Matrix<double>;

    /// Data of one piece that is kept between its ops.
    struct Saved {
        Normalised<double> ln1;
        M qkv;
        AttentionWeights<double> weights;
        M attended;
        Normalised<double> ln2;
        M hidden;     ///< input of GELU
        M later_grad; ///< gradients for `qkv` from later slices
        std::array<M, Parts::kParts> output_grads;
    };

    /// `parameters` must outlive the block.
    Block(std::span<const Weights<double>> parameters, AttentionShape shape) : parameters_(parameters), shape_(shape) {}

    /// `earlier` contains the previous slices of the same sequences.
    [[nodiscard]] M forward(M input, std::span<Saved* const> earlier, Saved& saved) const;
    /// Slices of a sequence must be passed in reverse order.
    [[nodiscard]] M backwardInput(M output_grad, std::span<Saved* const> earlier, Saved& saved) const;
    /// Returns one entry per part.
    [[nodiscard]] Parameters<double> backwardWeight(const Saved& saved) const;

private:
    std::span<const Weights<double>> parameters_;
    AttentionShape shape_;
};

// ---- One stage, whole micro-batches only

class Stage {
public:
    using M = Matrix<double>;

    /// Starts with the weights in stageLayout().
    Stage(const ModelConfig& config, StageTask task);

    [[nodiscard]] Parameters<double>& parameters() { return parameters_; }
    /// Weights of each part in column-major order, followed by its biases.
    [[nodiscard]] std::vector<float> values() const;

    [[nodiscard]] M forward(Piece piece, M input);
    [[nodiscard]] M backwardInput(Piece piece, M output_grad);
    void backwardWeight(Piece piece);
    /// Sum over the pieces, in the order of values().
    [[nodiscard]] M gradient() const;
    /// Applies the first AdamW step with this gradient.
    void step();
    /// Mean over the micro-batches.
    [[nodiscard]] double loss() const { return loss_ / task_.microbatches; }

private:
    struct Saved {
        std::vector<Block::Saved> blocks;
        TextData::Sequences data;
        Normalised<double> normalised;
        M logits_grad;
        M normalised_grad;
        M embedding_grad;
    };

    [[nodiscard]] bool first() const { return task_.place == 0; }
    [[nodiscard]] bool last() const { return task_.place == task_.places - 1; }
    [[nodiscard]] std::size_t firstPart(std::size_t block) const {
        return (first() ? 2 : 0) + block * BlockParts::kParts;
    }
    [[nodiscard]] Block block(std::size_t i) const {
        return {std::span(parameters_).subspan(firstPart(i), BlockParts::kParts), {config_.batch, config_.heads}};
    }
    [[nodiscard]] const Weights<double>& fromLast(std::size_t n) const { return parameters_[parameters_.size() - n]; }

    ModelConfig config_;
    StageTask task_;
    Parameters<double> parameters_;
    Parameters<double> gradients_; ///< sums over the pieces
    std::vector<bool> decays_;
    std::map<Piece, Saved> saved_;
    double loss_ = 0;
};

} // namespace bubblescope::runtime::reference
