#pragma once

#include "core/analysis/report.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// The first lines on a terminal: the files that were read, and the schedule.
void addTraceLines(Section& document, const Run& run, const StepSelection& selection);

/// For programs: "trace" with files, sizes, faults and origin of the trace; "schedule" with its schedule and how it was
/// found.
[[nodiscard]] Section traceData(const Run& run);
[[nodiscard]] Section scheduleData(const Run& run);

/// How the ranks' clocks were aligned; hidden from people if all ranks share one clock.
[[nodiscard]] Section clocksSection(const RunClocks& clocks);

} // namespace bubblescope::report
