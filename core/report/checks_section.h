#pragma once

#include "core/analysis/report.h"
#include "core/report/page.h"

namespace bubblescope {

/// What checks in bubbles covered and found; nothing where the trace holds none.
void addChecks(html::Page& page, const Run& run, const RunReport& report);

} // namespace bubblescope
