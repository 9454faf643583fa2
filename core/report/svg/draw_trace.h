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

/// Draws the raw slices of a time range as an SVG document of its own: a heading for each process, a band for each of
/// its threads, streams and lanes that has a slice in the range, a line of the band for each depth of nesting. Slices
/// of one name have one colour; neighbours too narrow to be seen are drawn as one; a label that would not fit is left
/// out or cut short. Instants, counters and flows are not drawn.
/// Errors: Usage, when the range is empty or holds no slice, or the width leaves no room.
[[nodiscard]] Result<std::string> drawTrace(const Trace& trace, const TraceDrawOptions& options = {});

/// The same, as a file. An existing one is replaced only when the new one is complete.
[[nodiscard]] Status writeTrace(const std::filesystem::path& file, const Trace& trace,
                                const TraceDrawOptions& options = {});

} // namespace bubblescope::svg
