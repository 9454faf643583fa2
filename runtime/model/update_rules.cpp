#include "runtime/model/update_rules.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::runtime {
namespace {

/// Adds the mean gradient to the momentum.
void addMomentum(const UpdatedMatrix& matrix, const UpdateRate& rate) {
    for (std::int64_t i = 0; i < matrix.size(); ++i)
        matrix.momentum[i] = rate.momentum * matrix.momentum[i] + matrix.gradient_sum[i] / rate.microbatches;
}

Gemm product(std::int64_t rows, std::int64_t columns, std::int64_t inner) {
    Gemm gemm;
    gemm.rows = rows;
    gemm.columns = columns;
    gemm.inner = inner;
    return gemm;
}

/// Moves the singular values of x towards 1. `shorter` is the smaller of its sizes.
class Orthogonalisation {
public:
    Orthogonalisation(WorkQueue& queue, float* x, std::int64_t rows, std::int64_t columns)
        : queue_(queue), x_(x), rows_(rows), columns_(columns), shorter_(std::min(rows, columns)),
          square_(take(shorter_ * shorter_)), polynomial_(take(shorter_ * shorter_)), next_(take(rows * columns)) {}

    void iterate() {
        constexpr float kA = 3.4445F;
        constexpr float kB = -4.7750F;
        constexpr float kC = 2.0315F;
        multiplyByItself();
        float* const gram = square_.as<float>();
        float* const polynomial = polynomial_.as<float>();
        std::copy_n(gram, shorter_ * shorter_, polynomial); // polynomial = b·gram + c·gram²
        for (std::int64_t i = 0; i < shorter_ * shorter_; ++i)
            polynomial[i] *= kB;
        Gemm gemm = product(shorter_, shorter_, shorter_);
        gemm.a = gemm.b = {gram, shorter_, 0, false};
        gemm.result = {polynomial, shorter_, 0, false};
        gemm.scale = kC;
        gemm.added = gemm.result.data;
        queue_.device().multiply(gemm, queue_.stream());
        applyPolynomial();
        const float* const next = next_.as<float>();
        for (std::int64_t i = 0; i < rows_ * columns_; ++i)
            x_[i] = kA * x_[i] + next[i];
    }

private:
    [[nodiscard]] Buffer take(std::int64_t size) {
        return queue_.pool().take(size * static_cast<std::int64_t>(sizeof(float)));
    }

    /// gram = x·xᵀ, or xᵀ·x if that is smaller.
    void multiplyByItself() {
        const bool wide = rows_ <= columns_;
        Gemm gemm = product(shorter_, shorter_, wide ? columns_ : rows_);
        gemm.a = {x_, rows_, 0, !wide};
        gemm.b = {x_, rows_, 0, wide};
        gemm.result = {square_.as<float>(), shorter_, 0, false};
        queue_.device().multiply(gemm, queue_.stream());
    }

    /// next = polynomial·x, or x·polynomial.
    void applyPolynomial() {
        const bool wide = rows_ <= columns_;
        Gemm gemm = product(rows_, columns_, shorter_);
        const GemmMatrix polynomial{polynomial_.as<float>(), shorter_, 0, false};
        const GemmMatrix matrix{x_, rows_, 0, false};
        gemm.a = wide ? polynomial : matrix;
        gemm.b = wide ? matrix : polynomial;
        gemm.result = {next_.as<float>(), rows_, 0, false};
        queue_.device().multiply(gemm, queue_.stream());
    }

    WorkQueue& queue_;
    float* x_;
    std::int64_t rows_;
    std::int64_t columns_;
    std::int64_t shorter_;
    Buffer square_;
    Buffer polynomial_;
    Buffer next_;
};

} // namespace

void stepSgd(const UpdatedMatrix& matrix, const UpdateRate& rate) {
    addMomentum(matrix, rate);
    for (std::int64_t i = 0; i < matrix.size(); ++i)
        matrix.values[i] = matrix.values[i] * rate.keep - rate.rate * matrix.momentum[i];
}

void stepMuon(WorkQueue& queue, const UpdatedMatrix& matrix, const UpdateRate& rate) {
    addMomentum(matrix, rate);
    const Buffer direction = queue.pool().take(matrix.size() * static_cast<std::int64_t>(sizeof(float)));
    float* const x = direction.as<float>();
    double norm = 0;
    for (std::int64_t i = 0; i < matrix.size(); ++i) {
        x[i] = matrix.gradient_sum[i] / rate.microbatches + rate.momentum * matrix.momentum[i];
        norm += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    const auto inverse = static_cast<float>(1.0 / (std::sqrt(norm) + 1e-7));
    for (std::int64_t i = 0; i < matrix.size(); ++i)
        x[i] *= inverse;
    constexpr int kIterations = 5;
    Orthogonalisation orthogonalisation(queue, x, matrix.rows, matrix.columns);
    for (int i = 0; i < kIterations; ++i)
        orthogonalisation.iterate();
    const float scale = 0.2F * std::sqrt(static_cast<float>(std::max(matrix.rows, matrix.columns)));
    for (std::int64_t i = 0; i < matrix.size(); ++i)
        matrix.values[i] = matrix.values[i] * rate.keep - rate.rate * scale * x[i];
}

} // namespace bubblescope::runtime
