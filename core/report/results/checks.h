#pragma once

#include "core/aadiff/coverage.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// What checks in bubbles covered and found. `reader` is whom the document is made for: Text, Page or Programs.
[[nodiscard]] Section checksSection(const CheckLog& log, const CheckCoverage& coverage, Reader reader);

} // namespace bubblescope::report
