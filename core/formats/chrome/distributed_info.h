#pragma once

#include "core/trace/trace.h"

#include <string_view>

namespace bubblescope::chrome {

/// Takes rank, world size and process groups from Kineto's distributedInfo, a JSON object; omits damaged entries. False
/// if it contradicts the file's earlier rank, which is kept.
[[nodiscard]] bool takeDistributedInfo(std::string_view object, TraceFile& file);

} // namespace bubblescope::chrome
