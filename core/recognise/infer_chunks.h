#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/found_ops.h"

#include <string>

namespace bubblescope {

/// Infers chunks, if names do not contain them: ops that are numbered by their order as if a rank had one chunk get the
/// micro-batch and chunk of a schedule with several chunks whose ranks run forwards, backwards and pairs in the same
/// order. Changes nothing if a schedule with one chunk fits, or none. The log reports the guess. Transfers, whose chunk
/// is unknown, are removed and counted in `log`; `where` is the name of the input.
void inferChunks(FoundOps& found, const std::string& where, DiagnosticLog& log);

} // namespace bubblescope
