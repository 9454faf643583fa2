#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"

#include <string>

namespace bubblescope {

/// The placement in a file: a schedule document, PyTorch's CSV, or lines "stage,rank" with each stage once, optionally
/// under that heading; '#' begins a comment. Orders have loop or V placement, so any other placement is rejected.
/// Errors: Input, naming the line, and the rank that the stage would be on.
[[nodiscard]] Result<Placement> readPlacement(const std::string& file, int pp, int vpp);

} // namespace bubblescope
