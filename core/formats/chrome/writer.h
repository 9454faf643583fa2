#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/trace/trace.h"

#include <filesystem>
#include <span>

namespace bubblescope::chrome {

/// Writes a trace as a bare array of Chrome trace events, one per line: a viewer can still read it if the file is
/// truncated. It is an object with such an array where files stated metadata. Slices are X events, asynchronous ones b
/// and e, those that never ended a begin without an end; instants, counters, flows, names and args are kept. Times are
/// microseconds with three decimals. They are those of the files where that is exact in doubles, as viewers read them,
/// else they count from the trace's origin; a metadata event ("trace_origin") states what is missing.
/// Processes of different files get different numbers. A metadata event ("trace_files", see source_files.h) states the
/// files and `problems`, those of reading them. What the format cannot hold (flow points outside of any slice) is
/// counted in `log`. Errors: Input if the file cannot be written.
[[nodiscard]] Status writeChrome(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log,
                                 std::span<const Diagnostic> problems = {});

} // namespace bubblescope::chrome
