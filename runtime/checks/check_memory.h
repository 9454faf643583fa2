#pragma once

#include "runtime/checks/check_setup.h"

#include <cstdint>

namespace bubblescope::runtime {

/// Upper bound for the memory that checks add to a rank on a device, in bytes, if ranks follow the study's plan; if
/// they plan from measured times, an estimate. `value_bytes` is the size of an activation.
///
/// A check keeps the inputs and results of a layer from its op to its bubble. For n tokens, width h, a heads and
/// vocabulary V, the sizes in activations are:
///
/// - block: 12nh in F, 21nh in I, 18nh in W, 22nh in B
/// - embedding: 2nh in any op
/// - head: nV + 4nh in any op
///
/// plus 4 bytes for each head and token, and in W and B for each weight of the layer twice: the sum of gradients before
/// and after the op. At most, all checks of a step are kept at the same time, and in the first step one more of each
/// kind of layer and op. The largest one is computed again meanwhile. To be digested, the results of an op's layers and
/// its input are kept to the op's end.
[[nodiscard]] std::int64_t checkMemoryOf(const CheckSetup& setup, const Schedule& schedule, const ModelConfig& model,
                                         Rank rank, int value_bytes);

} // namespace bubblescope::runtime
