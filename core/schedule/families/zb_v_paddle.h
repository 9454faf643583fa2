#pragma once

#include "core/cost/cost_model.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace bubblescope {

/// The inputs of Paddle's order of ZB-V.
struct ZbVPaddleInput {
    int pp = 1;
    int microbatches = 1;
    int vpp = 2; ///< 2 or more
    OpTimes times;
    TimeNs loss{0}; ///< added to the last stage's forward, input gradient and weight gradient
    TimeNs comm{0};
    ActivationSizes sizes = {};
    std::int64_t input_grad_peak = 0; ///< what an input gradient needs while it runs, in the unit of `sizes`
    std::int64_t memory_limit = std::numeric_limits<std::int64_t>::max(); ///< most a rank may hold, in that unit
};

/// Of all ways to fill, the order that ends first; nothing where one of them does not fit into the memory.
[[nodiscard]] std::optional<std::vector<std::vector<Op>>> zbVPaddleOrder(const ZbVPaddleInput& input);

} // namespace bubblescope
