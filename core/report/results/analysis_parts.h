#pragma once

#include "core/aadiff/coverage.h"
#include "core/analysis/period/step_period.h"
#include "core/analysis/report.h"
#include "core/analysis/step_diagnosis.h"
#include "core/report/document.h"
#include "core/timeline/step_selection.h"

namespace bubblescope::report {

/// Adds the first lines of the text output: the files that were read, and the schedule.
void addTraceLines(Section& document, const Run& run, const StepSelection& selection);

/// For programs: "trace" contains the trace's files, sizes, faults and origin; "schedule" contains the schedule and how
/// it was determined.
[[nodiscard]] Section traceData(const Run& run);
[[nodiscard]] Section scheduleData(const Run& run);

/// Alignment of the ranks' clocks; hidden from people if all ranks share one clock.
[[nodiscard]] Section clocksSection(const RunClocks& clocks);

/// Adds a step's use of time, the causes of its length, its critical path and the causes of waits to the step's
/// section. Times are relative to the start of the step. `request` selects the ranks shown. `reader` is the audience of
/// the document: Text, Page or Programs.
void addDiagnosis(Section& section, const StepTimeline& step, const StepDiagnosis& diagnosis,
                  const StepRequest& request, Reader reader);

/// The `accounting` of a rank: integer nanoseconds whose sum is the step's wall time.
[[nodiscard]] Value accountingOf(const RankAccounting& account);

/// Section "period": the time from the start of one step to the start of the next step. Empty if no two steps are
/// consecutive; for people, also empty if the period is within 1 % of the step time.
[[nodiscard]] Section periodSection(const StepPeriod& period, Reader reader);

/// Coverage and results of checks in bubbles. `reader` is the audience of the document: Text, Page or Programs.
[[nodiscard]] Section checksSection(const CheckLog& log, const CheckCoverage& coverage, Reader reader);

} // namespace bubblescope::report
