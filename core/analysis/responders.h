#pragma once

#include "core/recognise/trace_shares.h"

namespace bubblescope {

/// All that a process that holds a share of a trace is asked while a run is loaded and diagnosed.
[[nodiscard]] ShareResponders shareResponders();

} // namespace bubblescope
