#pragma once

#include "core/trace/trace.h"

namespace bubblescope {

/// True if the files of a trace do not overlap in time: most of the trace's span is an empty gap between two of them,
/// as when traces of different days are opened together. O(slices).
[[nodiscard]] bool filesAreApart(const Trace& trace);

} // namespace bubblescope
