#pragma once

#include "runtime/model/tensor.h"

#include <Eigen/Core>

#include <cstdint>
#include <vector>

namespace bubblescope::runtime {

// Matrices for computations in tests. Rows are tokens; columns are features.
template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <class Scalar>
using Row = Eigen::Matrix<Scalar, 1, Eigen::Dynamic>;
template <class Scalar>
using Column = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

[[nodiscard]] inline Matrix<float> toEigen(const HostMatrix& values) {
    using ByRow = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    return Eigen::Map<const ByRow>(values.data(), values.rows(), values.cols());
}

[[nodiscard]] inline HostMatrix toHostMatrix(const Matrix<float>& values) {
    HostMatrix result(values.rows(), values.cols());
    for (Eigen::Index row = 0; row < values.rows(); ++row) {
        for (Eigen::Index column = 0; column < values.cols(); ++column)
            result(row, column) = values(row, column);
    }
    return result;
}

/// Converts values to a single column.
[[nodiscard]] inline Matrix<float> toColumn(const std::vector<float>& values) {
    return Eigen::Map<const Matrix<float>>(values.data(), static_cast<Eigen::Index>(values.size()), 1);
}

} // namespace bubblescope::runtime
