#pragma once

#include "core/base/diagnostic.h"
#include "core/trace/trace.h"

namespace bubblescope {

/// Counts, by file, the arrows that cannot be drawn because fewer than two of their ends touch a slice:
/// "dangling-flow". Linear in the ends of arrows.
void noteDanglingFlows(const Trace& trace, DiagnosticLog& log);

} // namespace bubblescope
