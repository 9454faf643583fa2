#pragma once

#include <cstdint>

namespace bubblescope {

/// What the ops of one chunk take of a rank's memory and free again, in any one unit: bytes, or halves of an
/// activation as by default. What a forward takes, its input gradient and its weight gradient free together.
struct ActivationSizes {
    std::int64_t forward = 2;     ///< taken by a forward
    std::int64_t input_grad = 1;  ///< freed by its input gradient
    std::int64_t weight_grad = 1; ///< freed by its weight gradient
};

} // namespace bubblescope
