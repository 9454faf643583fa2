#pragma once

#include "runtime/accelerator/kernels/forms.h"

namespace bubblescope::runtime {

// Layer normalisation (Ba, Kiros and Hinton 2016).

/// The normalised values x̂ and 1/deviation of each row.
template <class T>
struct NormaliseKernel {
    using Form = RowForm;
    T* normalised;
    float* inverse_deviations;
    const T* input;
    std::int64_t tokens;
    std::int64_t width;

    struct State {
        float mean;
        float inverse;
    };
    using Part = float;
    static constexpr int kPasses = 2;

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return tokens; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return width; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t terms(std::int64_t /*row*/) const { return width; }
    template <class Visitor>
    BUBBLESCOPE_PORTABLE void visitArrays(Visitor& visitor) {
        visitor.write(normalised);
        visitor.read(input);
    }
    BUBBLESCOPE_PORTABLE static Part zero(int /*pass*/) { return 0.0F; }
    BUBBLESCOPE_PORTABLE Part term(int pass, std::int64_t row, std::int64_t i, const State& state) const {
        const float x = load(input[row * width + i]);
        const float off = x - state.mean;
        return pass == 0 ? x : off * off;
    }
    BUBBLESCOPE_PORTABLE static Part combine(int /*pass*/, Part a, Part b) { return a + b; }
    BUBBLESCOPE_PORTABLE void total(int pass, Part sum, State& state) const {
        const float mean = sum / static_cast<float>(width);
        if (pass == 0) {
            state.mean = mean;
        } else {
            state.inverse = 1.0F / sqrtf(mean + 1e-5F);
        }
    }
    BUBBLESCOPE_PORTABLE void write(std::int64_t row, std::int64_t i, const State& state) const {
        store(normalised[row * width + i], (load(input[row * width + i]) - state.mean) * state.inverse);
    }
    BUBBLESCOPE_PORTABLE void finish(std::int64_t row, const State& state) const {
        inverse_deviations[row] = state.inverse;
    }
};

/// Normalisation and y = x̂ ∘ gain + bias in one kernel; the result is bit-identical to that of two separate
/// kernels.
template <class T>
struct NormaliseAndScaleKernel : NormaliseKernel<T> {
    using State = typename NormaliseKernel<T>::State;
    T* output;
    const float* gain;
    const float* bias;

    template <class Visitor>
    BUBBLESCOPE_PORTABLE void visitArrays(Visitor& visitor) {
        NormaliseKernel<T>::visitArrays(visitor);
        visitor.write(output);
        visitor.readOfColumn(gain);
        visitor.readOfColumn(bias);
    }
    BUBBLESCOPE_PORTABLE void write(std::int64_t row, std::int64_t i, const State& state) const {
        NormaliseKernel<T>::write(row, i, state);
        const std::int64_t at = row * this->width + i;
        store(output[at], load(this->normalised[at]) * gain[i] + bias[i]);
    }
};

/// y = x̂ ∘ gain + bias.
template <class T>
struct ScaleKernel {
    using Form = GridForm;
    T* output;
    const T* normalised;
    const float* gain;
    const float* bias;
    std::int64_t tokens;
    std::int64_t width;

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return tokens; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return width; }
    template <class Visitor>
    BUBBLESCOPE_PORTABLE void visitArrays(Visitor& visitor) {
        visitor.write(output);
        visitor.read(normalised);
        visitor.readOfColumn(gain);
        visitor.readOfColumn(bias);
    }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t row, std::int64_t column) const {
        const std::int64_t i = row * width + column;
        store(output[i], load(normalised[i]) * gain[column] + bias[column]);
    }
};

/// The gradient of the input, plus the gradient of the residual branch around the normalisation: input_grad = beside +
/// …
template <class T>
struct NormGradientKernel {
    using Form = RowForm;
    T* input_grad;
    const T* beside; ///< nullptr = no such branch
    const T* output_grad;
    const T* normalised;
    const float* inverse_deviations;
    const float* gain;
    std::int64_t tokens;
    std::int64_t width;

    /// Sums for two means: of gradient · gain, and of gradient · gain · x̂.
    struct Part {
        float mean;
        float along;
    };
    using State = Part;
    static constexpr int kPasses = 1;

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return tokens; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return width; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t terms(std::int64_t /*row*/) const { return width; }
    template <class Visitor>
    BUBBLESCOPE_PORTABLE void visitArrays(Visitor& visitor) {
        visitor.write(input_grad);
        visitor.readIfAny(beside);
        visitor.read(output_grad);
        visitor.read(normalised);
        visitor.readOfRow(inverse_deviations);
        visitor.readOfColumn(gain);
    }
    BUBBLESCOPE_PORTABLE static Part zero(int /*pass*/) { return {0.0F, 0.0F}; }
    BUBBLESCOPE_PORTABLE Part term(int /*pass*/, std::int64_t row, std::int64_t i, const State& /*state*/) const {
        const float grad = load(output_grad[row * width + i]) * gain[i];
        return {grad, grad * load(normalised[row * width + i])};
    }
    BUBBLESCOPE_PORTABLE static Part combine(int /*pass*/, Part a, Part b) {
        return {a.mean + b.mean, a.along + b.along};
    }
    BUBBLESCOPE_PORTABLE void total(int /*pass*/, Part sum, State& state) const {
        state = {sum.mean / static_cast<float>(width), sum.along / static_cast<float>(width)};
    }
    BUBBLESCOPE_PORTABLE void write(std::int64_t row, std::int64_t i, const State& state) const {
        const std::int64_t at = row * width + i;
        const float grad = load(output_grad[at]) * gain[i] - state.mean - load(normalised[at]) * state.along;
        store(input_grad[at], (beside == nullptr ? 0.0F : load(beside[at])) + grad * inverse_deviations[row]);
    }
    BUBBLESCOPE_PORTABLE void finish(std::int64_t /*row*/, const State& /*state*/) const {}
};

/// The gradients of gain and bias.
template <class T>
struct NormWeightGradientKernel {
    using Form = ColumnForm;
    float* gain_grad;
    float* bias_grad;
    const T* normalised;
    const T* output_grad;
    std::int64_t tokens;
    std::int64_t width;
    const float* gain_before; ///< the sums to add to, or nullptr; may be the outputs
    const float* bias_before;

    struct Part {
        float gain;
        float bias;
    };

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return width; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return tokens; }
    template <class Visitor>
    BUBBLESCOPE_PORTABLE void visitArrays(Visitor& visitor) {
        visitor.read(normalised);
        visitor.read(output_grad);
    }
    BUBBLESCOPE_PORTABLE static Part zero() { return {0.0F, 0.0F}; }
    BUBBLESCOPE_PORTABLE static Part combine(Part a, Part b) { return {a.gain + b.gain, a.bias + b.bias}; }
    BUBBLESCOPE_PORTABLE Part part(std::int64_t row, std::int64_t column) const {
        const float grad = load(output_grad[row * width + column]);
        return {grad * load(normalised[row * width + column]), grad};
    }
    BUBBLESCOPE_PORTABLE void finish(std::int64_t column, Part sum) const {
        gain_grad[column] = gain_before != nullptr ? gain_before[column] + sum.gain : sum.gain;
        bias_grad[column] = bias_before != nullptr ? bias_before[column] + sum.bias : sum.bias;
    }
};

/// The gradient of the bias of a linear layer.
template <class T>
struct BiasGradientKernel {
    using Form = ColumnForm;
    float* grad;
    const T* output_grad;
    std::int64_t tokens;
    std::int64_t width;
    const float* before; ///< the sum to add to, or nullptr; may be `grad`

    using Part = float;

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return width; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return tokens; }
    template <class Visitor>
    BUBBLESCOPE_PORTABLE void visitArrays(Visitor& visitor) {
        visitor.read(output_grad);
    }
    BUBBLESCOPE_PORTABLE static Part zero() { return 0.0F; }
    BUBBLESCOPE_PORTABLE static Part combine(Part a, Part b) { return a + b; }
    BUBBLESCOPE_PORTABLE Part part(std::int64_t row, std::int64_t column) const {
        return load(output_grad[row * width + column]);
    }
    BUBBLESCOPE_PORTABLE void finish(std::int64_t column, Part sum) const {
        grad[column] = before != nullptr ? before[column] + sum : sum;
    }
};

} // namespace bubblescope::runtime
