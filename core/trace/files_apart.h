#pragma once

#include "core/trace/trace.h"

namespace bubblescope {

/// True if the files of a trace do not overlap in time, because most of the trace's span is a gap between two files, as
/// for traces of different days. Linear in the number of slices.
[[nodiscard]] bool filesAreApart(const Trace& trace);

} // namespace bubblescope
