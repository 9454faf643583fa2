#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/file_bytes.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace_builder.h"

#include <string>

namespace bubblescope::chrome {

/// Reads a JSON trace (an object with traceEvents, or a bare array of events) into the builder's current file. Also
/// sets the file's format and, from Kineto's distributedInfo, its rank. Reads a truncated or corrupt file up to the
/// first error and adds a diagnostic. Invalid events are omitted and counted. Args stay in `bytes`, which the trace
/// keeps alive. Large files are parsed on several threads. `where` is the name of the file. Errors: Input if the JSON
/// is not a trace or is corrupt before the first event; Cancelled.
[[nodiscard]] Status readChrome(const FileBytes& bytes, const std::string& where, TraceBuilder& builder,
                                DiagnosticLog& log, LoadProgress& progress);

/// True if readChrome() failed because the file is JSON without events: a file from another program.
[[nodiscard]] bool isNoTrace(const Error& error);

} // namespace bubblescope::chrome
