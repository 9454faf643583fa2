#pragma once

#include <Eigen/Core>

namespace bubblescope::runtime {

/// Rows are samples, columns are features. Eigen works on one thread here and its results depend on values
/// and shapes alone, which is what makes runs comparable bit by bit.
using Tensor = Eigen::MatrixXf;

} // namespace bubblescope::runtime
