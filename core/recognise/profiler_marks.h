#pragma once

#include "core/base/diagnostic.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

class RawTrace;

/// A time range on the host that PyTorch's profiler or the adapter of a framework marked.
struct Mark {
    std::int64_t index = 0; ///< number of the step
    TimeNs start{0};
    TimeNs end{0};
};

/// The marks of PyTorch's profiler or of a framework's adapter in a file, by start.
struct ProfilerMarks {
    /// The most specific kind of stepMarkNamed(); for an adapter, from its mark to the next one.
    std::vector<Mark> steps;
    std::vector<Mark> receives; ///< gloo:recv: from the call to the arrival, across other scopes
    /// The values that a recorded job's framework reports, see perfetto::kCaptureStates.
    std::map<std::string, std::string> stated;
    bool is_captured = false; ///< `record` wrote the file
    bool has_end = false;     ///< its process exited normally
    std::string signal;       ///< signal that ended its process; empty if none did or it is unknown
    TimeNs ended{0};          ///< when it exited, or when the signal ended it
};

[[nodiscard]] Result<std::vector<ProfilerMarks>> extractProfilerMarks(RawTrace& raw);

/// The mark of the step that contains a time; null between steps.
[[nodiscard]] const Mark* markAt(const ProfilerMarks& marks, TimeNs time);
/// Its number; nothing between steps.
[[nodiscard]] std::optional<std::int64_t> stepAt(const ProfilerMarks& marks, TimeNs time);

/// The receive that ended last among those posted in [from, to].
[[nodiscard]] std::optional<Mark> receivePostedIn(const ProfilerMarks& marks, TimeNs from, TimeNs to);

/// The numbers of layers by stage in a text such as "0:4,7:4"; empty if it is malformed.
[[nodiscard]] std::map<Stage, int> statedLayers(std::string_view text);

/// Reports files whose rank ranksOfFiles() guesses, and returns whether there are any.
bool tellUnknownRanks(std::span<const TraceFile> files, DiagnosticLog& log);

} // namespace bubblescope
