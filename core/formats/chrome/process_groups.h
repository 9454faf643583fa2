#pragma once

#include "core/trace/trace.h"

#include <string_view>
#include <vector>

namespace bubblescope::chrome {

/// The groups in Kineto's distributedInfo (a JSON object), under pg_config; their ranks stand there as a list or, in
/// traces taken on demand, as the text of one. What is damaged is left out.
[[nodiscard]] std::vector<ProcessGroup> processGroups(std::string_view distributed_info);

} // namespace bubblescope::chrome
