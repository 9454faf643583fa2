#pragma once

#include "core/base/result.h"
#include "core/trace/trace.h"

#include <filesystem>
#include <optional>
#include <string>

namespace bubblescope::svg {

struct TraceDrawOptions {
    TimeNs from{0};                ///< relative to the origin of the trace
    std::optional<TimeNs> to = {}; ///< end of the range; if empty, the end of the trace
    double width = 1200;           ///< pixels
};

/// Draws the raw slices of a time range as a standalone SVG document: a heading per process, and a band for each of its
/// threads, streams and lanes with a slice in the range. A band has one line per nesting depth. Slices with the same
/// name have the same colour. Neighbours that are too narrow to be visible are merged; labels that do not fit are
/// omitted or truncated. Instants, counters and flows are not drawn. Errors: Usage if the range is empty or contains no
/// slices, or if the width is too small.
[[nodiscard]] Result<std::string> drawTrace(const Trace& trace, const TraceDrawOptions& options = {});

/// Same as drawTrace(), but writes to a file. An existing file is replaced only when the new file is complete.
[[nodiscard]] Status writeTrace(const std::filesystem::path& file, const Trace& trace,
                                const TraceDrawOptions& options = {});

} // namespace bubblescope::svg
