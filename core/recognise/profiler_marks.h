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

/// A time range on the host, marked by PyTorch's profiler or by the adapter of a framework.
struct Mark {
    std::int64_t index = 0; ///< number of the step
    TimeNs start{0};
    TimeNs end{0};
};

/// The marks from PyTorch's profiler or from a framework's adapter in a file, sorted by start.
struct ProfilerMarks {
    /// Marks of the most specific kind (stepMarkNamed()). With an adapter, each range lasts until the next mark.
    std::vector<Mark> steps;
    std::vector<Mark> receives; ///< gloo:recv ranges from call to arrival, which need not nest in other scopes
    /// The values reported by the framework of a recorded job; see perfetto::kCaptureStates.
    std::map<std::string, std::string> stated;
    bool kernels_sampled = false;   ///< true if kernels were recorded in some steps only; see SampledKernels
    std::vector<Mark> kernel_steps; ///< these steps
    bool is_captured = false;       ///< true if `record` wrote the file
    bool has_end = false;           ///< true if the process exited normally
    std::string signal;             ///< signal that ended the process; empty if none or unknown
    TimeNs ended{0};                ///< time at which the process exited or was ended by the signal
};

[[nodiscard]] Result<std::vector<ProfilerMarks>> extractProfilerMarks(RawTrace& raw);

/// The mark of the step that contains a time; null between steps.
[[nodiscard]] const Mark* markAt(const ProfilerMarks& marks, TimeNs time);
/// The number of the step that contains a time; nullopt between steps.
[[nodiscard]] std::optional<std::int64_t> stepAt(const ProfilerMarks& marks, TimeNs time);

/// The receive that ended last among the receives posted in [from, to].
[[nodiscard]] std::optional<Mark> receivePostedIn(const ProfilerMarks& marks, TimeNs from, TimeNs to);

/// Parses the number of layers per stage from a string such as "0:4,7:4"; empty if it is malformed.
[[nodiscard]] std::map<Stage, int> statedLayers(std::string_view text);

/// Reports files whose rank ranksOfFiles() guesses. Returns true if there are such files.
bool tellUnknownRanks(std::span<const TraceFile> files, DiagnosticLog& log);

} // namespace bubblescope
