#pragma once

#include "core/base/time.h"
#include "core/cost/cost_model.h"
#include "core/schedule/families/registry.h"
#include "core/schedule/op.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace bubblescope {

// Orders generated for given times and a given memory; each is defined in the file of its name.

/// The zero-bubble order for a spec's sizes and times, one chunk per rank. A rank holds at most `memory_limit`, in the
/// unit of the spec's sizes; it must hold one forward. O(p·m).
[[nodiscard]] std::vector<std::vector<Op>> zbAutoOrder(const ScheduleSpec& spec, std::int64_t memory_limit);

/// The inputs of the greedy ZB-V order.
struct ZbVGreedyInput {
    int pp = 1;
    int microbatches = 1;
    TimeNs forward{0};
    TimeNs input_grad{0};
    TimeNs weight_grad{0};
    TimeNs comm{0};
    std::int64_t memory_limit = 0; ///< maximum per rank, in the unit of `sizes`
    ActivationSizes sizes;
};

/// The best order that greedy filling finds; nothing if the warm-up does not fit into the memory. O(p·m).
[[nodiscard]] std::optional<std::vector<std::vector<Op>>> zbVGreedyOrder(const ZbVGreedyInput& input);

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
    std::int64_t memory_limit = std::numeric_limits<std::int64_t>::max(); ///< maximum per rank, in that unit
};

/// Of all ways to fill, the order that ends first; nothing if one of them does not fit into the memory.
[[nodiscard]] std::optional<std::vector<std::vector<Op>>> zbVPaddleOrder(const ZbVPaddleInput& input);

} // namespace bubblescope
