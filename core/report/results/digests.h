#pragma once

#include "core/aadiff/compare.h"
#include "core/recognise/run.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// Document about the digests of two runs: where they first differ, and the consequences. `reader` is the audience of
/// the document: Text, Page or Programs.
[[nodiscard]] Document digestsDocument(const RecordedChecks& a, const RecordedChecks& b, const DigestComparison& result,
                                       Reader reader);

} // namespace bubblescope::report
