#pragma once

#include "core/analysis/step_diagnosis.h"
#include "core/report/document.h"
#include "core/timeline/step_selection.h"

namespace bubblescope::report {

/// Adds to a step's section where its time went, what made it longer, its critical path and the causes of its waits.
/// Times count from the start of the step. `request` selects the ranks shown. `reader` is the reader of the document:
/// Text, Page or Programs.
void addDiagnosis(Section& section, const StepTimeline& step, const StepDiagnosis& diagnosis,
                  const StepRequest& request, Reader reader);

/// `accounting` of a rank: whole nanoseconds that sum to the step's wall time.
[[nodiscard]] Value accountingOf(const RankAccounting& account);

} // namespace bubblescope::report
