#pragma once

#include <Eigen/Core>

#include <cstdint>

namespace bubblescope::runtime {

// Rows are tokens, columns are features. Eigen works on one thread here and its results depend on values
// and shapes alone, which is what makes runs comparable bit by bit. The maths is written for any scalar, so that tests
// can hold gradients against finite differences in double precision; training uses float.
template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <class Scalar>
using Row = Eigen::Matrix<Scalar, 1, Eigen::Dynamic>;
template <class Scalar>
using Column = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

using Tensor = Matrix<float>;

template <class Dense>
[[nodiscard]] std::int64_t bytesOf(const Dense& values) {
    return static_cast<std::int64_t>(values.size()) * static_cast<std::int64_t>(sizeof(typename Dense::Scalar));
}

} // namespace bubblescope::runtime
