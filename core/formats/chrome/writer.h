#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/trace/trace.h"

#include <filesystem>

namespace bubblescope::chrome {

/// Writes a trace as a bare array of Chrome trace events, one per line: a viewer can still read it if the file is
/// truncated. Slices are X events, asynchronous ones b and e; instants, counters, flows, names and args are kept. Times
/// are microseconds with three decimals from the trace's origin, which a metadata event ("trace_origin") states.
/// Processes of different files get different numbers. What the format cannot hold (flow points outside of any slice)
/// is counted in `log`. Errors: Input if the file cannot be written.
[[nodiscard]] Status writeChrome(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log);

} // namespace bubblescope::chrome
