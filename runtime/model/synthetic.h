#pragma once

#include "core/base/ids.h"
#include "runtime/model/tensor.h"

#include <cstdint>

namespace bubblescope::runtime {

/// Numbers that follow from a seed and a name alone, not from who asks first: element i of a tensor is a
/// hash of (seed, stream, index, i). Exact on every machine.
class Synthetic {
public:
    /// What a tensor is for; different streams never share numbers.
    enum class Stream : std::uint64_t { Weights = 1, Inputs = 2, Teacher = 3 };

    explicit Synthetic(std::uint64_t seed) : seed_(seed) {}

    /// Evenly distributed in [-scale, scale).
    [[nodiscard]] Tensor uniform(Stream stream, std::uint64_t index, Eigen::Index rows, Eigen::Index columns,
                                 float scale) const;

private:
    std::uint64_t seed_;
};

/// One micro-batch: inputs of about unit variance and the outputs of a linear teacher for them. Every step
/// trains on the same m micro-batches, so the loss of a run falls steadily.
struct Samples {
    Tensor inputs;  ///< rows x width
    Tensor targets; ///< rows x 1
};

[[nodiscard]] Samples syntheticSamples(std::uint64_t seed, Microbatch microbatch, int rows, int width);

} // namespace bubblescope::runtime
