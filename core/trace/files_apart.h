#pragma once

#include "core/trace/trace.h"

namespace bubblescope {

/// True if the files of a trace are apart in time: most of the trace's span is a gap between two files, as for traces
/// of different days. Linear in the number of slices.
[[nodiscard]] bool filesAreApart(const Trace& trace);

} // namespace bubblescope
