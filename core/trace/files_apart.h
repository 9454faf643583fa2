#pragma once

#include "core/trace/trace.h"

namespace bubblescope {

/// True if the files of a trace are far apart in time: most of the trace's span is a gap between two files, as for
/// traces from different days. Linear in the number of slices.
[[nodiscard]] bool filesAreApart(const Trace& trace);

} // namespace bubblescope
