#pragma once

#include "runtime/accelerator/kernels/elementary.h"
#include "runtime/accelerator/kernels/forms.h"

namespace bubblescope::runtime {

BUBBLESCOPE_PORTABLE inline float lowestFloat() {
    return -3.402823466e38F;
}

/// The maximum; `b` if `a` is NaN.
BUBBLESCOPE_PORTABLE inline float larger(float a, float b) {
    return a > b ? a : b;
}

/// Softmax with a causal mask. Rows are the queries of one head after another. Columns are all tokens up to the last
/// token of the slice; query q attends to the first keys − queries + q + 1 of these tokens. The other columns are set
/// to 0.
template <class T>
struct CausalSoftmaxKernel {
    using Form = RowForm;
    T* weights;
    const float* scores;
    std::int64_t heads;
    std::int64_t queries;
    std::int64_t keys;

    struct State {
        float largest;
        float inverse;
    };
    using Part = float;
    static constexpr int kPasses = 2;

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return heads * queries; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return keys; }
    /// The number of tokens that the row's query attends to.
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t terms(std::int64_t row) const {
        return keys - queries + row % queries + 1;
    }
    BUBBLESCOPE_PORTABLE static Part zero(int pass) { return pass == 0 ? lowestFloat() : 0.0F; }
    BUBBLESCOPE_PORTABLE Part term(int pass, std::int64_t row, std::int64_t i, const State& state) const {
        const float score = scores[row * keys + i];
        return pass == 0 ? score : elementaryExp(score - state.largest);
    }
    BUBBLESCOPE_PORTABLE static Part combine(int pass, Part a, Part b) { return pass == 0 ? larger(b, a) : a + b; }
    BUBBLESCOPE_PORTABLE void total(int pass, Part result, State& state) const {
        if (pass == 0) {
            state.largest = result;
        } else {
            state.inverse = 1.0F / result;
        }
    }
    BUBBLESCOPE_PORTABLE void write(std::int64_t row, std::int64_t i, const State& state) const {
        const std::int64_t at = row * keys + i;
        const float weight = elementaryExp(scores[at] - state.largest) * state.inverse;
        store(weights[at], i < terms(row) ? weight : 0.0F);
    }
    BUBBLESCOPE_PORTABLE void finish(std::int64_t /*row*/, const State& /*state*/) const {}
};

/// Replaces the weights with the gradient of the scores before scaling. Masked columns have weight 0, so their gradient
/// is 0.
template <class T>
struct CausalSoftmaxGradientKernel {
    using Form = RowForm;
    T* weights; ///< replaced by the gradient
    const float* weights_grad;
    std::int64_t heads;
    std::int64_t queries;
    std::int64_t keys;
    float scale;

    struct State {
        float along;
    };
    using Part = float;
    static constexpr int kPasses = 1;

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return heads * queries; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return keys; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t terms(std::int64_t /*row*/) const { return keys; }
    BUBBLESCOPE_PORTABLE static Part zero(int /*pass*/) { return 0.0F; }
    BUBBLESCOPE_PORTABLE Part term(int /*pass*/, std::int64_t row, std::int64_t i, const State& /*state*/) const {
        return load(weights[row * keys + i]) * weights_grad[row * keys + i];
    }
    BUBBLESCOPE_PORTABLE static Part combine(int /*pass*/, Part a, Part b) { return a + b; }
    BUBBLESCOPE_PORTABLE void total(int /*pass*/, Part sum, State& state) const { state.along = sum; }
    BUBBLESCOPE_PORTABLE void write(std::int64_t row, std::int64_t i, const State& state) const {
        const std::int64_t at = row * keys + i;
        store(weights[at], scale * load(weights[at]) * (weights_grad[at] - state.along));
    }
    BUBBLESCOPE_PORTABLE void finish(std::int64_t /*row*/, const State& /*state*/) const {}
};

/// Cross-entropy of a softmax over the columns: computes the loss of each row, and the gradient of the sum of losses
/// times `share`.
template <class T>
struct CrossEntropyKernel {
    using Form = RowForm;
    T* logits_grad;
    float* losses;
    const float* logits;
    const int* targets;
    std::int64_t tokens;
    std::int64_t vocabulary;
    float share;

    struct State {
        float largest;
        float sum;
    };
    using Part = float;
    static constexpr int kPasses = 2;

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return tokens; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return vocabulary; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t terms(std::int64_t /*row*/) const { return vocabulary; }
    BUBBLESCOPE_PORTABLE static Part zero(int pass) { return pass == 0 ? lowestFloat() : 0.0F; }
    BUBBLESCOPE_PORTABLE Part term(int pass, std::int64_t row, std::int64_t i, const State& state) const {
        const float logit = logits[row * vocabulary + i];
        return pass == 0 ? logit : elementaryExp(logit - state.largest);
    }
    BUBBLESCOPE_PORTABLE static Part combine(int pass, Part a, Part b) { return pass == 0 ? larger(b, a) : a + b; }
    BUBBLESCOPE_PORTABLE void total(int pass, Part result, State& state) const {
        if (pass == 0) {
            state.largest = result;
        } else {
            state.sum = result;
        }
    }
    BUBBLESCOPE_PORTABLE void write(std::int64_t row, std::int64_t i, const State& state) const {
        const std::int64_t at = row * vocabulary + i;
        const float grad = elementaryExp(logits[at] - state.largest) * (share / state.sum);
        store(logits_grad[at], i == targets[row] ? grad - share : grad);
    }
    BUBBLESCOPE_PORTABLE void finish(std::int64_t row, const State& state) const {
        losses[row] = logf(state.sum) - (logits[row * vocabulary + targets[row]] - state.largest);
    }
};

/// The sum of a piece's losses times `share`, in double precision. Uses a form with one row.
struct LossKernel {
    using Form = RowForm;
    using Varies = void; // because each micro-batch has a separate loss
    double* loss;
    const float* losses;
    std::int64_t tokens;
    double share;

    struct State {
        double sum;
    };
    using Part = double;
    static constexpr int kPasses = 1;

    [[nodiscard]] BUBBLESCOPE_PORTABLE static std::int64_t rows() { return 1; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE static std::int64_t columns() { return 0; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t terms(std::int64_t /*row*/) const { return tokens; }
    BUBBLESCOPE_PORTABLE static Part zero(int /*pass*/) { return 0.0; }
    BUBBLESCOPE_PORTABLE Part term(int /*pass*/, std::int64_t /*row*/, std::int64_t i, const State& /*state*/) const {
        return static_cast<double>(losses[i]);
    }
    BUBBLESCOPE_PORTABLE static Part combine(int /*pass*/, Part a, Part b) { return a + b; }
    BUBBLESCOPE_PORTABLE void total(int /*pass*/, Part sum, State& state) const { state.sum = sum; }
    BUBBLESCOPE_PORTABLE void write(std::int64_t /*row*/, std::int64_t /*i*/, const State& /*state*/) const {}
    BUBBLESCOPE_PORTABLE void finish(std::int64_t /*row*/, const State& state) const { *loss = state.sum * share; }
};

} // namespace bubblescope::runtime
