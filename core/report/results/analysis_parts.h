#pragma once

#include "core/aadiff/coverage.h"
#include "core/analysis/period/step_period.h"
#include "core/analysis/report.h"
#include "core/analysis/step_diagnosis.h"
#include "core/report/document.h"
#include "core/timeline/step_selection.h"

namespace bubblescope::report {

/// The first lines on a terminal: the files that were read, and the schedule.
void addTraceLines(Section& document, const Run& run, const StepSelection& selection);

/// For programs: "trace" with files, sizes, faults and origin of the trace; "schedule" with its schedule and how it was
/// found.
[[nodiscard]] Section traceData(const Run& run);
[[nodiscard]] Section scheduleData(const Run& run);

/// How the ranks' clocks were aligned; hidden from people if all ranks share one clock.
[[nodiscard]] Section clocksSection(const RunClocks& clocks);

/// Adds to a step's section where its time went, what made it longer, its critical path and the causes of its waits.
/// Times count from the start of the step. `request` selects the ranks shown. `reader` is the reader of the document:
/// Text, Page or Programs.
void addDiagnosis(Section& section, const StepTimeline& step, const StepDiagnosis& diagnosis,
                  const StepRequest& request, Reader reader);

/// `accounting` of a rank: whole nanoseconds that sum to the step's wall time.
[[nodiscard]] Value accountingOf(const RankAccounting& account);

/// "period": the time from the start of a step to the start of the next one. Empty if no two steps are consecutive, and
/// for people if the period equals the step within 1 %.
[[nodiscard]] Section periodSection(const StepPeriod& period, Reader reader);

/// The coverage and results of checks in bubbles. `reader` is the reader of the document: Text, Page or Programs.
[[nodiscard]] Section checksSection(const CheckLog& log, const CheckCoverage& coverage, Reader reader);

} // namespace bubblescope::report
