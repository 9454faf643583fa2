#pragma once

#include "core/base/result.h"
#include "core/trace/trace.h"

#include <filesystem>
#include <optional>
#include <string>

namespace bubblescope::svg {

struct TraceDrawOptions {
    TimeNs from{0};                ///< counted from the trace's origin
    std::optional<TimeNs> to = {}; ///< end of the trace if not given
    double width = 1200;           ///< pixels
};

/// Draws the raw slices of a time range as a separate SVG document: a heading per process, a band for each of its
/// threads, streams and lanes that has a slice in the range, and a line of the band per depth of nesting. Slices with
/// the same name have the same colour; neighbours too narrow to be seen are drawn as one; labels that would not fit are
/// left out or truncated. Instants, counters and flows are not drawn. Errors: Usage if the range is empty or has no
/// slices, or the width leaves no room.
[[nodiscard]] Result<std::string> drawTrace(const Trace& trace, const TraceDrawOptions& options = {});

/// Like drawTrace(), but writes to a file. An existing file is replaced only when the new one is complete.
[[nodiscard]] Status writeTrace(const std::filesystem::path& file, const Trace& trace,
                                const TraceDrawOptions& options = {});

} // namespace bubblescope::svg
