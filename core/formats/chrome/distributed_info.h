#pragma once

#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope::chrome {

/// Reads rank, world size and process groups from Kineto's distributedInfo, a JSON object; omits malformed entries. If
/// the file already has a rank, that rank is kept. Returns the rank in the object.
std::optional<std::int32_t> takeDistributedInfo(std::string_view object, TraceFile& file);

} // namespace bubblescope::chrome
