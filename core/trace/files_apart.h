#pragma once

#include "core/trace/trace.h"

namespace bubblescope {

/// True if the files of a trace share no time: most of its span lies between two of them and is empty, as when traces
/// of different days are opened together. O(slices).
[[nodiscard]] bool filesAreApart(const Trace& trace);

} // namespace bubblescope
