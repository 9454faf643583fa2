#pragma once

#include "core/analysis/report.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// What a terminal shows first: what was read, and which schedule it is.
void addTraceLines(Section& document, const Run& run, const StepSelection& selection);

/// For programs: files, sizes, faults and origin of the trace, "trace"; its schedule, and how that is known,
/// "schedule".
[[nodiscard]] Section traceData(const Run& run);
[[nodiscard]] Section scheduleData(const Run& run);

/// How the ranks' clocks were put together; nothing to see for people where they share one.
[[nodiscard]] Section clocksSection(const RunClocks& clocks);

} // namespace bubblescope::report
