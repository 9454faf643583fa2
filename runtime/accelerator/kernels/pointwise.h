#pragma once

#include "runtime/accelerator/kernels/elementary.h"
#include "runtime/accelerator/kernels/forms.h"
#include "runtime/accelerator/kernels/number_hash.h"

#include <type_traits>

namespace bubblescope::runtime {

// T is float or Bf16, the storage of activations. All arithmetic is in float. Activations are row-major (one row per
// token), and weights are column-major, as on the host.

/// values[i] = scale · a number in [-1, 1) from the sequence `base`. The values are taken from the sequence in runs
/// that start `stride` numbers apart.
struct UniformKernel {
    using Form = EachForm;
    float* values;
    std::int64_t size;
    std::uint64_t base;
    float scale;
    std::int64_t run = 1; ///< length of a run
    std::int64_t stride = 1;

    [[nodiscard]] std::int64_t count() const { return size; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const {
        values[i] = unitOf(base, static_cast<std::uint64_t>(i / run * stride + i % run)) * scale;
    }
};

struct FillKernel {
    using Form = EachForm;
    float* values;
    std::int64_t size;
    float value;

    [[nodiscard]] std::int64_t count() const { return size; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const { values[i] = value; }
};

/// Rounds values to bfloat16.
struct RoundKernel {
    using Form = EachForm;
    Bf16* to;
    const float* from;
    std::int64_t size;

    [[nodiscard]] std::int64_t count() const { return size; }
    template <class Visitor>
    BUBBLESCOPE_PORTABLE void visitArrays(Visitor& visitor) {
        visitor.write(to);
        visitor.read(from);
    }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const { store(to[i], from[i]); }
};

struct AddKernel {
    using Form = EachForm;
    float* to;
    const float* from;
    std::int64_t size;

    [[nodiscard]] std::int64_t count() const { return size; }
    template <class Visitor>
    BUBBLESCOPE_PORTABLE void visitArrays(Visitor& visitor) {
        visitor.change(to);
        visitor.read(from);
    }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const { to[i] += from[i]; }
};

/// to[row, c] += from[row, c] + bias[c], rounded once.
template <class T>
struct AddWithBiasKernel {
    using Form = GridForm;
    T* to;
    const float* from;
    const float* bias;
    std::int64_t tokens;
    std::int64_t width;

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return tokens; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return width; }
    template <class Visitor>
    BUBBLESCOPE_PORTABLE void visitArrays(Visitor& visitor) {
        visitor.change(to);
        visitor.read(from);
        visitor.readOfColumn(bias);
    }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t row, std::int64_t column) const {
        const std::int64_t i = row * width + column;
        store(to[i], load(to[i]) + (from[i] + bias[column]));
    }
};

/// to[row, to_column + c] += from[row, from_column + c] for `count` columns of two matrices of different widths.
template <class T>
struct AddColumnsKernel {
    using Form = GridForm;
    T* to;
    const float* from;
    std::int64_t tokens;
    std::int64_t count;
    std::int64_t to_width;
    std::int64_t to_column;
    std::int64_t from_width;
    std::int64_t from_column;

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return tokens; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return count; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t row, std::int64_t column) const {
        T& value = to[row * to_width + to_column + column];
        store(value, load(value) + from[row * from_width + from_column + column]);
    }
};

// GELU in its tanh form (Hendrycks and Gimpel 2016).
BUBBLESCOPE_PORTABLE inline float geluInner(float x) {
    return 0.7978845608F * (x + 0.044715F * x * x * x);
}

template <class T>
struct GeluKernel {
    using Form = EachForm;
    T* to;
    const T* from;
    std::int64_t size;

    [[nodiscard]] std::int64_t count() const { return size; }
    template <class Visitor>
    BUBBLESCOPE_PORTABLE void visitArrays(Visitor& visitor) {
        visitor.write(to);
        visitor.read(from);
    }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const {
        const float x = load(from[i]);
        store(to[i], 0.5F * x * onePlusTanh(geluInner(x)));
    }
};

/// grad[i] *= the derivative of GELU at before[i].
template <class T>
struct GeluGradientKernel {
    using Form = EachForm;
    T* grad;
    const T* before;
    std::int64_t size;

    [[nodiscard]] std::int64_t count() const { return size; }
    template <class Visitor>
    BUBBLESCOPE_PORTABLE void visitArrays(Visitor& visitor) {
        visitor.change(grad);
        visitor.read(before);
    }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const {
        const float x = load(before[i]);
        const float t = elementaryTanh(geluInner(x));
        const float slope =
            0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * (0.7978845608F * (1.0F + 0.134145F * x * x));
        store(grad[i], load(grad[i]) * slope);
    }
};

/// One AdamW step (Loshchilov and Hutter 2019) on a run of values with equal weight decay. Also updates the rounded
/// copy.
template <class T>
struct AdamWKernel {
    using Form = EachForm;
    using Varies = void; // because the bias corrections vary
    float* values;
    T* rounded; ///< rounded copy of the values; the values themselves if T is float
    const float* gradient_sum;
    float* first;
    float* second;
    std::int64_t size;
    float microbatches; ///< number of micro-batches in the gradient's sum
    float beta1;
    float beta2;
    float keep;  ///< 1 − learning rate · weight decay, or 1
    float rate;  ///< learning rate with the bias correction of the first moment
    float scale; ///< bias correction of the square root of the second moment
    float epsilon;

    [[nodiscard]] std::int64_t count() const { return size; }
    template <class Visitor>
    BUBBLESCOPE_PORTABLE void visitArrays(Visitor& visitor) {
        visitor.change(values);
        if constexpr (!std::is_same_v<T, float>) visitor.write(rounded);
        visitor.read(gradient_sum);
        visitor.change(first);
        visitor.change(second);
    }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const {
        const float gradient = gradient_sum[i] / microbatches;
        const float m = beta1 * first[i] + (1.0F - beta1) * gradient;
        const float v = beta2 * second[i] + (1.0F - beta2) * (gradient * gradient);
        first[i] = m;
        second[i] = v;
        const float value = values[i] * keep - rate * m / (sqrtf(v) * scale + epsilon);
        values[i] = value;
        if constexpr (!std::is_same_v<T, float>) store(rounded[i], value);
    }
};

// Faults injected into device memory.

/// Flips one bit of one number; bit 0 is the lowest.
template <class T>
struct FlipKernel {
    using Form = EachForm;
    T* value;
    unsigned bit;

    [[nodiscard]] std::int64_t count() const { return 1; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t /*i*/) const {
        unsigned char* const at = reinterpret_cast<unsigned char*>(value) + bit / 8;
        *at = static_cast<unsigned char>(*at ^ (1U << (bit % 8)));
    }
};

/// Flips the lowest bit of about half of the numbers, which resembles the effect of a different summation order.
template <class T>
struct DisturbKernel {
    using Form = EachForm;
    T* values;
    std::int64_t size;
    std::uint64_t chance;

    [[nodiscard]] std::int64_t count() const { return size; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const {
        if ((mixBits(chance + static_cast<std::uint64_t>(i)) & 1U) == 0) return;
        unsigned char* const at = reinterpret_cast<unsigned char*>(values + i);
        *at = static_cast<unsigned char>(*at ^ 1U);
    }
};

} // namespace bubblescope::runtime
