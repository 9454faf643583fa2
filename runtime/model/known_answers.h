#pragma once

#include "runtime/model/layer_watch.h"
#include "runtime/model/layers.h"

#include <cstdint>
#include <span>

namespace bubblescope::runtime {

/// A computation whose answer is stored.
struct KnownAnswer {
    CheckedTensor tensor = CheckedTensor::Product;
    std::uint64_t digest = 0; ///< of the answer
};

/// A product of matrices, sums of columns, and a copy, by the code that layers use. Their inputs are whole numbers,
/// small enough that every sum is exact in single precision: the answer does not depend on the order of additions, so
/// it is the same on every machine and device.
[[nodiscard]] std::span<const KnownAnswer> knownAnswers();

struct KnownInputs {
    Matrix<float> input; ///< of all three
    Weights<float> linear;
};
[[nodiscard]] const KnownInputs& knownInputs();

/// Computes one on the host and shows it.
void computeKnown(CheckedTensor tensor, LayerProbe& probe);

} // namespace bubblescope::runtime
