#pragma once

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

/// Computes them on a device, from factors stored as T. The answers are in float and lie column by column.
template <class T>
class KnownComputation {
public:
    /// Takes the inputs there; waits.
    explicit KnownComputation(WorkQueue& on);

    /// Computes one and shows it.
    void compute(CheckedTensor tensor, const LayerPlace& place) const;

private:
    Buffer input_; ///< column by column, as T
    Buffer rows_;  ///< the same row by row
    Buffer exact_; ///< as float, column by column
    Buffer weight_;
    Buffer bias_; ///< a row of it for each row of the product, in float
};

} // namespace bubblescope::runtime
