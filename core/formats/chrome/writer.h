#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/trace/trace.h"

#include <filesystem>

namespace bubblescope::chrome {

/// Writes a trace as a bare array of Chrome trace events, one a line: what a viewer can still read if the file is cut
/// off. Slices are X events, asynchronous ones b and e; instants, counters, flows, names and args are kept. Times are
/// microseconds with three decimals from the trace's origin, which an event of metadata ("trace_origin") states.
/// Processes of different files get numbers of their own. What the form cannot hold (flow points outside of any slice)
/// is counted in `log`. Errors: Input when the file cannot be written.
[[nodiscard]] Status writeChrome(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log);

} // namespace bubblescope::chrome
