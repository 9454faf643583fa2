#pragma once

#include "core/trace/trace.h"

#include <string_view>

namespace bubblescope::chrome {

/// Takes rank, ranks of the job and process groups from Kineto's distributedInfo, a JSON object; damaged entries are
/// omitted. False if it states another rank than the file has already, which stays.
[[nodiscard]] bool takeDistributedInfo(std::string_view object, TraceFile& file);

} // namespace bubblescope::chrome
