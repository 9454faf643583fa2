#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/trace/trace.h"

#include <filesystem>
#include <span>

namespace bubblescope::chrome {

/// Writes a trace as a bare array of Chrome trace events, one per line, so that viewers can read it even if the file is
/// truncated. If files contained metadata, the array is a member of an object. Slices are X events; asynchronous slices
/// are b and e events. Slices that never ended become a begin event without an end. Instants, counters, flows, names
/// and args are preserved. Times are microseconds with three decimals. The original times are kept if viewers, which
/// use doubles, represent them exactly. Otherwise, times are relative to the trace's origin, recorded in a metadata
/// event ("trace_origin"). Processes of different files get different numbers. A metadata event ("trace_files", see
/// source_files.h) records the files and the `problems` found when reading them. Elements that the format cannot
/// represent (flow points outside slices) are counted in `log`. Errors: Input if the file cannot be written.
[[nodiscard]] Status writeChrome(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log,
                                 std::span<const Diagnostic> problems = {});

} // namespace bubblescope::chrome
