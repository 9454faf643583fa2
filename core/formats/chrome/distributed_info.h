#pragma once

#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope::chrome {

/// If the file already has a rank, that rank is kept. An existing rank of the file is kept. Returns the rank in the
/// object.
std::optional<std::int32_t> takeDistributedInfo(std::string_view object, TraceFile& file);

} // namespace bubblescope::chrome
