#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"

#include <string>

namespace bubblescope {

/// The placement that a file states: a schedule document or PyTorch's CSV, whose placement it is, or lines
/// "stage,rank", each stage once, with or without that as a heading; '#' begins a comment. Orders have loop or V
/// placement, so other files are rejected. Errors: Input, naming the line, and the rank that the stage would be on.
[[nodiscard]] Result<Placement> readPlacement(const std::string& file, int pp, int vpp);

} // namespace bubblescope
