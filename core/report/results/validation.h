#pragma once

#include "core/graph/validate.h"
#include "core/report/document.h"

#include <vector>

namespace bubblescope::report {

/// What validate() found in a schedule: how many problems, and the first thousand of them.
[[nodiscard]] Document validationDocument(const Schedule& schedule, const std::vector<ScheduleProblem>& problems);

} // namespace bubblescope::report
