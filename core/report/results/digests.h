#pragma once

#include "core/aadiff/compare.h"
#include "core/recognise/run.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// The digests of two runs: where they begin to differ, and what follows from it. `reader` is whom the document is made
/// for: Text, Page or Programs.
[[nodiscard]] Document digestsDocument(const RecordedChecks& a, const RecordedChecks& b, const DigestComparison& result,
                                       Reader reader);

} // namespace bubblescope::report
