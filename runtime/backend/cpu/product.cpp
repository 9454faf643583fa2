#include "runtime/backend/cpu/product.h"

#include "runtime/accelerator/kernels/portable.h"

#include <Eigen/Core>

#include <cstddef>
#include <stdexcept>
#include <vector>

// The only file that uses Eigen, with one thread. Results depend only on values and shapes, so runs can be compared bit
// by bit.

namespace bubblescope::runtime::cpu {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic>;
using Stride = Eigen::OuterStride<Eigen::Dynamic>;
using Factor = Eigen::Map<const Matrix, Eigen::Unaligned, Stride>;
using Result = Eigen::Map<Matrix, Eigen::Unaligned, Stride>;

/// The factor as stored in memory, before transposition.
Factor factor(const GemmMatrix& matrix, int batch, std::int64_t rows, std::int64_t columns) {
    const float* const data = static_cast<const float*>(matrix.data) + batch * matrix.stride;
    return matrix.transposed ? Factor(data, columns, rows, Stride(matrix.leading))
                             : Factor(data, rows, columns, Stride(matrix.leading));
}

template <class A, class B>
void productOf(const Gemm& gemm, const A& a, const B& b, Result& result) {
    if (gemm.added != nullptr) {
        result.noalias() += gemm.scale * a * b;
    } else if (gemm.scale == 1.0F) {
        result.noalias() = a * b;
    } else {
        result.noalias() = gemm.scale * a * b;
    }
}

void multiplyFloats(const Gemm& gemm) {
    for (int batch = 0; batch < gemm.batch; ++batch) {
        const Factor a = factor(gemm.a, batch, gemm.rows, gemm.inner);
        const Factor b = factor(gemm.b, batch, gemm.inner, gemm.columns);
        Result result(static_cast<float*>(gemm.result.data) + batch * gemm.result.stride, gemm.rows, gemm.columns,
                      Stride(gemm.result.leading));
        if (gemm.added != nullptr && gemm.added != gemm.result.data) {
            result = Factor(static_cast<const float*>(gemm.added) + batch * gemm.result.stride, gemm.rows, gemm.columns,
                            Stride(gemm.result.leading));
        }
        if (gemm.a.transposed && gemm.b.transposed) {
            productOf(gemm, a.transpose(), b.transpose(), result);
        } else if (gemm.a.transposed) {
            productOf(gemm, a.transpose(), b, result);
        } else if (gemm.b.transposed) {
            productOf(gemm, a, b.transpose(), result);
        } else {
            productOf(gemm, a, b, result);
        }
        if (gemm.bias == nullptr) continue;
        const Eigen::Map<const Eigen::VectorXf> bias(static_cast<const float*>(gemm.bias), gemm.rows);
        result.colwise() += bias;
    }
}

/// One matrix of a batch as stored in memory, converted to float.
std::vector<float> inFloat(const GemmMatrix& matrix, int batch, std::int64_t rows, std::int64_t columns) {
    const std::int64_t lines = matrix.transposed ? rows : columns;
    const std::int64_t length = matrix.transposed ? columns : rows;
    std::vector<float> values(static_cast<std::size_t>(batch * lines * length));
    auto to = values.begin();
    for (int one = 0; one < batch; ++one) {
        for (std::int64_t line = 0; line < lines; ++line) {
            const Bf16* const from =
                static_cast<const Bf16*>(matrix.data) + one * matrix.stride + line * matrix.leading;
            for (std::int64_t i = 0; i < length; ++i)
                *to++ = load(from[i]);
        }
    }
    return values;
}

/// Used by tests of a GPU's behaviour: no CPU run stores its activations rounded.
void multiplyRounded(const Gemm& gemm) {
    std::vector<float> a = inFloat(gemm.a, gemm.batch, gemm.rows, gemm.inner);
    std::vector<float> b = inFloat(gemm.b, gemm.batch, gemm.inner, gemm.columns);
    Gemm exact = gemm;
    exact.a = {a.data(), gemm.a.transposed ? gemm.inner : gemm.rows, gemm.rows * gemm.inner, gemm.a.transposed};
    exact.b = {b.data(), gemm.b.transposed ? gemm.columns : gemm.inner, gemm.inner * gemm.columns, gemm.b.transposed};
    if (gemm.out == Storage::Float) return multiplyFloats(exact);
    std::vector<float> sums(static_cast<std::size_t>(gemm.batch * gemm.rows * gemm.columns));
    exact.result = {sums.data(), gemm.rows, gemm.rows * gemm.columns, false};
    exact.bias = nullptr;
    exact.added = nullptr;
    multiplyFloats(exact);
    auto sum = sums.begin();
    for (int batch = 0; batch < gemm.batch; ++batch) {
        for (std::int64_t column = 0; column < gemm.columns; ++column) {
            const std::int64_t at = batch * gemm.result.stride + column * gemm.result.leading;
            Bf16* const to = static_cast<Bf16*>(gemm.result.data) + at;
            for (std::int64_t row = 0; row < gemm.rows; ++row) {
                float value = *sum++;
                if (gemm.added != nullptr) value += load(static_cast<const Bf16*>(gemm.added)[at + row]);
                if (gemm.bias != nullptr) value += load(static_cast<const Bf16*>(gemm.bias)[row]);
                store(to[row], value);
            }
        }
    }
}

} // namespace

void multiply(const Gemm& gemm) {
    if (gemm.in == Storage::Bf16) return multiplyRounded(gemm);
    if (gemm.out != Storage::Float) throw std::logic_error("a product of floats that is rounded");
    multiplyFloats(gemm);
}

} // namespace bubblescope::runtime::cpu
