#pragma once

#include "core/base/time.h"
#include "core/cost/cost_model.h"
#include "core/schedule/op.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope {

/// The inputs of the greedy ZB-V order.
struct ZbVGreedyInput {
    int pp = 1;
    int microbatches = 1;
    TimeNs forward{0};
    TimeNs input_grad{0};
    TimeNs weight_grad{0};
    TimeNs comm{0};
    std::int64_t memory_limit = 0; ///< most that a rank may hold, in the unit of `sizes`
    ActivationSizes sizes;
};

/// The best order that greedy filling finds; nothing where the warm-up does not fit into the memory.
/// Linear in p·m.
[[nodiscard]] std::optional<std::vector<std::vector<Op>>> zbVGreedyOrder(const ZbVGreedyInput& input);

} // namespace bubblescope
