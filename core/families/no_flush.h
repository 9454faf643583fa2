#pragma once

#include <string_view>

namespace bubblescope {

/// True for a family whose orders update weights before the pipeline is empty. Such an order trains with delayed
/// gradients, so its time cannot simply replace that of another schedule.
[[nodiscard]] bool trainsWithDelay(std::string_view family);

} // namespace bubblescope
