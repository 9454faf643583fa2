#pragma once

#include "runtime/model/data_plan.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_layout.h"
#include "tests/support/eigen_matrix.h"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace bubblescope::runtime::reference {

// The model once more, in double precision and without regard to speed: what the accelerators compute is held against
// it, and its own gradients are held against differences of its forward, which double precision leaves little room in.
// Each part as forward, gradient for the input and gradient for the weights; pure functions of their arguments.

/// The parameters of one part: of y = x·weight + bias, of a normalisation (weight = one row of gains) or of a table of
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

// ---- A whole block: x + attention(norm(x)), then y + mlp(norm(y)) (Radford et al. 2019)

class Block {
public:
    using Parts = BlockParts;
    using M = Matrix<double>;

    /// The data of one piece between its ops.
    struct Saved {
        Normalised<double> ln1;
        M qkv;
        AttentionWeights<double> weights;
        M attended;
        Normalised<double> ln2;
        M hidden;     ///< before GELU
        M later_grad; ///< for `qkv`, from later slices
        std::array<M, Parts::kParts> output_grads;
    };

    /// `parameters` must outlive the block.
    Block(std::span<const Weights<double>> parameters, AttentionShape shape) : parameters_(parameters), shape_(shape) {}

    /// `earlier` are those of the same sequences' slices before this one.
    [[nodiscard]] M forward(M input, std::span<Saved* const> earlier, Saved& saved) const;
    /// Slices of a sequence come back last to first.
    [[nodiscard]] M backwardInput(M output_grad, std::span<Saved* const> earlier, Saved& saved) const;
    /// One entry per part.
    [[nodiscard]] Parameters<double> backwardWeight(const Saved& saved) const;

private:
    std::span<const Weights<double>> parameters_;
    AttentionShape shape_;
};

// ---- One stage, whole micro-batches only

class Stage {
public:
    using M = Matrix<double>;

    /// With the weights that stageLayout() states.
    Stage(const ModelConfig& config, StageTask task);

    [[nodiscard]] Parameters<double>& parameters() { return parameters_; }
    /// Each part's weights, column by column, then its biases.
    [[nodiscard]] std::vector<float> values() const;

    [[nodiscard]] M forward(Piece piece, M input);
    [[nodiscard]] M backwardInput(Piece piece, M output_grad);
    void backwardWeight(Piece piece);
    /// The sum over the pieces, in the order of values().
    [[nodiscard]] M gradient() const;
    /// The first step of AdamW, with that.
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
    Parameters<double> gradients_; ///< summed
    std::vector<bool> decays_;
    std::map<Piece, Saved> saved_;
    double loss_ = 0;
};

} // namespace bubblescope::runtime::reference
