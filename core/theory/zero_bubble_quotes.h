#pragma once

#include "core/schedule/schedule.h"
#include "core/theory/closed_form.h"

#include <vector>

namespace bubblescope {

// What papers, frameworks and READMEs state of the zero-bubble families, as in ScheduleFamily::quoted_forms. Quoted
// where our own form is known, so that each can be judged; with free transfers only.

[[nodiscard]] std::vector<QuotedForm> zbH1Quotes(const Schedule& schedule, const CostModel& costs);
[[nodiscard]] std::vector<QuotedForm> zbH2Quotes(const Schedule& schedule, const CostModel& costs);
[[nodiscard]] std::vector<QuotedForm> zbVQuotes(const Schedule& schedule, const CostModel& costs);
[[nodiscard]] std::vector<QuotedForm> vHalfQuotes(const Schedule& schedule, const CostModel& costs);
[[nodiscard]] std::vector<QuotedForm> vMinQuotes(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
