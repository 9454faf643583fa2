#pragma once

#include "runtime/backend/accelerator/kernels/forms.h"

namespace bubblescope::runtime {

BUBBLESCOPE_PORTABLE inline float lowestFloat() {
    return -3.402823466e38F;
}

/// Softmax over what a query sees. Rows are queries of one head after the other, columns all tokens up to the last of
/// the slice; query q sees the first past + q + 1. The rest becomes 0.
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

    [[nodiscard]] std::int64_t rows() const { return heads * queries; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t seen(std::int64_t row) const {
        return keys - queries + row % queries + 1;
    }
    BUBBLESCOPE_PORTABLE Part part(int pass, std::int64_t row, int lane, const State& state) const {
        float result = pass == 0 ? lowestFloat() : 0.0F;
        const std::int64_t visible = seen(row);
        for (std::int64_t i = lane; i < visible; i += kLanes) {
            const float score = scores[row * keys + i];
            result = pass == 0 ? fmaxf(result, score) : result + expf(score - state.largest);
        }
        return result;
    }
    BUBBLESCOPE_PORTABLE static Part combine(int pass, Part a, Part b) { return pass == 0 ? fmaxf(a, b) : a + b; }
    BUBBLESCOPE_PORTABLE void total(int pass, Part result, State& state) const {
        if (pass == 0) {
            state.largest = result;
        } else {
            state.inverse = 1.0F / result;
        }
    }
    BUBBLESCOPE_PORTABLE void finish(std::int64_t row, int lane, const State& state) const {
        const std::int64_t visible = seen(row);
        for (std::int64_t i = lane; i < keys; i += kLanes) {
            const std::int64_t at = row * keys + i;
            store(weights[at], i < visible ? expf(scores[at] - state.largest) * state.inverse : 0.0F);
        }
    }
};

/// The gradient for the scores before they were scaled, in place of the weights. What a query does not see has weight 0
/// and so gets 0.
template <class T>
struct CausalSoftmaxGradientKernel {
    using Form = RowForm;
    T* weights; ///< become the gradient
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

    [[nodiscard]] std::int64_t rows() const { return heads * queries; }
    BUBBLESCOPE_PORTABLE Part part(int /*pass*/, std::int64_t row, int lane, const State& /*state*/) const {
        float sum = 0.0F;
        for (std::int64_t i = lane; i < keys; i += kLanes)
            sum += load(weights[row * keys + i]) * weights_grad[row * keys + i];
        return sum;
    }
    BUBBLESCOPE_PORTABLE static Part combine(int /*pass*/, Part a, Part b) { return a + b; }
    BUBBLESCOPE_PORTABLE void total(int /*pass*/, Part sum, State& state) const { state.along = sum; }
    BUBBLESCOPE_PORTABLE void finish(std::int64_t row, int lane, const State& state) const {
        for (std::int64_t i = lane; i < keys; i += kLanes) {
            const std::int64_t at = row * keys + i;
            store(weights[at], scale * load(weights[at]) * (weights_grad[at] - state.along));
        }
    }
};

/// Cross-entropy of a softmax over the columns: each row's loss, and the gradient of `share` times their sum.
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

    [[nodiscard]] std::int64_t rows() const { return tokens; }
    BUBBLESCOPE_PORTABLE Part part(int pass, std::int64_t row, int lane, const State& state) const {
        float result = pass == 0 ? lowestFloat() : 0.0F;
        for (std::int64_t i = lane; i < vocabulary; i += kLanes) {
            const float logit = logits[row * vocabulary + i];
            result = pass == 0 ? fmaxf(result, logit) : result + expf(logit - state.largest);
        }
        return result;
    }
    BUBBLESCOPE_PORTABLE static Part combine(int pass, Part a, Part b) { return pass == 0 ? fmaxf(a, b) : a + b; }
    BUBBLESCOPE_PORTABLE void total(int pass, Part result, State& state) const {
        if (pass == 0) {
            state.largest = result;
        } else {
            state.sum = result;
        }
    }
    BUBBLESCOPE_PORTABLE void finish(std::int64_t row, int lane, const State& state) const {
        const std::int64_t target = targets[row];
        for (std::int64_t i = lane; i < vocabulary; i += kLanes) {
            const std::int64_t at = row * vocabulary + i;
            const float grad = expf(logits[at] - state.largest) * (share / state.sum);
            store(logits_grad[at], i == target ? grad - share : grad);
        }
        if (lane == 0) losses[row] = logf(state.sum) - (logits[row * vocabulary + target] - state.largest);
    }
};

/// The sum of a piece's losses times `share`, in double: one row.
struct LossKernel {
    using Form = RowForm;
    double* loss;
    const float* losses;
    std::int64_t tokens;
    double share;

    struct State {
        double sum;
    };
    using Part = double;
    static constexpr int kPasses = 1;

    [[nodiscard]] static std::int64_t rows() { return 1; }
    BUBBLESCOPE_PORTABLE Part part(int /*pass*/, std::int64_t /*row*/, int lane, const State& /*state*/) const {
        double sum = 0.0;
        for (std::int64_t i = lane; i < tokens; i += kLanes)
            sum += static_cast<double>(losses[i]);
        return sum;
    }
    BUBBLESCOPE_PORTABLE static Part combine(int /*pass*/, Part a, Part b) { return a + b; }
    BUBBLESCOPE_PORTABLE void total(int /*pass*/, Part sum, State& state) const { state.sum = sum; }
    BUBBLESCOPE_PORTABLE void finish(std::int64_t /*row*/, int lane, const State& state) const {
        if (lane == 0) *loss = state.sum * share;
    }
};

} // namespace bubblescope::runtime
