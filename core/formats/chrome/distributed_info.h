#pragma once

#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope::chrome {

/// Takes rank, world size and process groups from Kineto's distributedInfo, a JSON object; omits damaged entries. Keeps
/// the rank that the file already has. Returns the rank that the object states.
std::optional<std::int32_t> takeDistributedInfo(std::string_view object, TraceFile& file);

} // namespace bubblescope::chrome
