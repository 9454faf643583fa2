#pragma once

#include "core/schedule/schedule.h"
#include "core/theory/closed_form.h"

#include <vector>

namespace bubblescope {

// What papers and READMEs state of waves and of pipelines that micro-batches enter from two sides, as in
// ScheduleFamily::quoted_forms. Quoted for free transfers only, DualPipe's where our own form is known.

[[nodiscard]] std::vector<QuotedForm> dualPipeQuotes(const Schedule& schedule, const CostModel& costs);
[[nodiscard]] std::vector<QuotedForm> dualPipeVQuotes(const Schedule& schedule, const CostModel& costs);
[[nodiscard]] std::vector<QuotedForm> chimeraQuotes(const Schedule& schedule, const CostModel& costs);
[[nodiscard]] std::vector<QuotedForm> bitPipeQuotes(const Schedule& schedule, const CostModel& costs);
[[nodiscard]] std::vector<QuotedForm> hanayoQuotes(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
