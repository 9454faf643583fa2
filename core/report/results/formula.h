#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/report/document.h"
#include "core/theory/closed_form.h"

#include <optional>

namespace bubblescope::report {

/// A closed form and, if the form is a bound, the result of the simulation.
struct Formula {
    Schedule schedule;
    CostModel costs;
    ClosedForm form;
    std::optional<TimeNs> simulated;
};

/// Errors: those of closedForm() and of simulate().
[[nodiscard]] Result<Formula> formulaOf(Schedule schedule, CostModel costs);

/// The closed form by rank and position. JSON always contains the published forms, text only with `explain`.
[[nodiscard]] Document formulaDocument(const Formula& formula, bool explain);

} // namespace bubblescope::report
