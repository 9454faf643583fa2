#pragma once

#include "core/base/result.h"
#include "core/trace/trace.h"

#include <filesystem>

namespace bubblescope::csv {

/// Writes one line per slice, for spreadsheets and scripts. Columns: file, process, thread, category, name, start_ns
/// (relative to the trace's origin), duration_ns, depth (0 = outermost) and args (a JSON object, empty if there are
/// none). RFC 4180: fields with commas, quotes or line ends are quoted. Instants, counters and flows are not written.
/// Errors: Input if the file cannot be written.
[[nodiscard]] Status writeSlices(const std::filesystem::path& file, const Trace& trace);

} // namespace bubblescope::csv
