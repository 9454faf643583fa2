#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"

#include <string>

namespace bubblescope {

/// The placement stated in a file: that of a schedule document or PyTorch's CSV, or of lines "stage,rank", each stage
/// once, optionally with that as a heading; '#' begins a comment. Orders have loop or V placement, so other files are
/// rejected. Errors: Input, naming the line, and the rank that the stage would be on.
[[nodiscard]] Result<Placement> readPlacement(const std::string& file, int pp, int vpp);

} // namespace bubblescope
