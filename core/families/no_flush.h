#pragma once

#include <string_view>

namespace bubblescope {

/// True for families whose orders update weights before the pipeline is empty. Such an order trains with delayed
/// gradients, so it is not equivalent to another schedule even if it is faster.
[[nodiscard]] bool trainsWithDelay(std::string_view family);

} // namespace bubblescope
