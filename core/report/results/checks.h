#pragma once

#include "core/aadiff/coverage.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// The coverage and results of checks in bubbles. `reader` is the reader of the document: Text, Page or Programs.
[[nodiscard]] Section checksSection(const CheckLog& log, const CheckCoverage& coverage, Reader reader);

} // namespace bubblescope::report
