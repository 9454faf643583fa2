#pragma once

#include "runtime/model/layers.h"

#include <cstdint>
#include <span>

namespace bubblescope::runtime {

/// A computation whose result is known.
struct KnownAnswer {
    CheckedTensor tensor = CheckedTensor::Product;
    std::uint64_t digest = 0; ///< digest of the result
};

/// A matrix product, sums of columns, and a copy, computed by the code that layers use. All inputs are small integers,
/// so every sum is exact in single precision. The result therefore does not depend on the order of additions, and is
/// the same on every machine and device.
[[nodiscard]] std::span<const KnownAnswer> knownAnswers();

/// Computes known answers on a device, from factors stored as T. The results are in float and column-major.
template <class T>
class KnownComputation {
public:
    /// Copies the inputs to the device, and waits for the copies.
    explicit KnownComputation(WorkQueue& on);

    /// Computes one answer and passes it to the probe.
    void compute(CheckedTensor tensor, const LayerPlace& place) const;

private:
    Buffer input_; ///< column-major, as T
    Buffer rows_;  ///< row-major, as T
    Buffer exact_; ///< column-major, as float
    Buffer weight_;
    Buffer bias_; ///< one row for each row of the product, as float
};

} // namespace bubblescope::runtime
