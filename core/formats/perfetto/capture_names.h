#pragma once

#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

/// Metadata that traces of recorded jobs contain in instants of their process. Shared by the recording library and the
/// reader.
namespace bubblescope::perfetto {

inline constexpr std::string_view kCaptureCategory = "capture";
inline constexpr std::string_view kCaptureBegins = "capture begins"; ///< one instant at the beginning of each file
inline constexpr std::string_view kCaptureEnds = "capture ends"; ///< the last instant of a process that exited normally
/// The last instant of a process that did not exit normally. `record` wrote its remaining records.
inline constexpr std::string_view kCaptureRecovered = "capture recovered";
/// Arg of that instant: the name of the signal that ended the process, such as SIGKILL. Missing if no signal ended it
/// or the signal is unknown.
inline constexpr std::string_view kCaptureSignal = "signal";
/// Arg of the first instant: the offset from the file's times to its host's wall clock, for aligning hosts.
inline constexpr std::string_view kCaptureOffset = "wall_clock_ahead_ns";

/// Values that a process's framework reports about the job, as text args of an instant. The instant is recorded when
/// the values become known, and in each part of the trace.
///   framework, version, schedule   names used by the framework
///   family, flavor                 names of the schedule in this program
///   rank                           rank among all processes of the job
///   pp, dp, tp, cp, ep             coordinate and size of an axis: "1/4"
///   layers                         number of model layers per stage of the process: "0:4,7:4"
///   kernels_every                  the recording library's: kernels are recorded only in every N-th step; see
///                                  kCaptureKernels
///   check_layers                   number of layers that checks distinguish per stage of the process: "0:4,7:4"
///   check_device                   GPU that computes the process's stages: its UUID, and its index in the process
/// Checks in bubbles follow timeline/trace_names.h, with the args rank, replica and tensor_rank in the pipeline. Layers
/// are numbered within each stage.
inline constexpr std::string_view kCaptureStates = "capture states";
inline constexpr std::string_view kKernelsEvery = "kernels_every";
/// An instant at the start of each step whose kernels were recorded, in a process that records them only in some steps:
/// the args are the step's number and length. The process states `kernels_every`; kernels in other steps are missing.
inline constexpr std::string_view kCaptureKernels = "capture kernels";
inline constexpr std::string_view kKernelsStep = "step";
inline constexpr std::string_view kKernelsTime = "for_ns";
/// Parses the value of `rank`; nullopt if it is invalid.
[[nodiscard]] inline std::optional<std::int32_t> statedRank(std::string_view text) {
    const auto rank = parseNumber<std::int32_t>(text);
    return rank && *rank >= 0 ? rank : std::nullopt;
}
/// Written if a process whose framework reports its ops has recorded nothing for a few seconds. The arg "in" is the
/// innermost open range, or empty; the arg "for_ns" is the time without records.
inline constexpr std::string_view kCaptureStands = "capture stands";
/// A slice on a separate track: how long the process's busiest thread has waited for a processor core since the
/// previous flush. The slice ends at the current flush, because it is not known when exactly the thread waited.
inline constexpr std::string_view kCaptureWaitForCore = "waits for a core";
/// Category of the ranges and marks of ops. "2F3" is the forward of micro-batch 3 on stage 2. The mark "step 7" starts
/// a step; any other mark ends it.
inline constexpr std::string_view kPipelineCategory = "pipeline";
inline constexpr std::string_view kStepMark = "step ";

/// Numbers of events that a process has recorded and lost since its start. In the process's trace, the instant "capture
/// totals" has an arg with the field's name for each count that is not 0.
struct CaptureCounts {
    std::int64_t ranges = 0;         ///< NVTX ranges of all kinds
    std::int64_t marks = 0;          ///< NVTX
    std::int64_t comm_events = 0;    ///< events from NCCL's profiler interface
    std::int64_t gpu_work = 0;       ///< kernels, copies, memsets, graphs
    std::int64_t gpu_calls = 0;      ///< driver and runtime calls
    std::int64_t lost_in_rings = 0;  ///< ranges, marks and NCCL events lost because memory was full
    std::int64_t not_written = 0;    ///< ranges, marks and NCCL events that could not be written
    std::int64_t lost_in_cupti = 0;  ///< records that CUPTI dropped
    std::int64_t lost_buffers = 0;   ///< CUPTI's failed requests for a buffer
    std::int64_t untimed = 0;        ///< CUPTI records without times
    std::int64_t damaged = 0;        ///< CUPTI records that end too early or have impossible times
    std::int64_t unmatched = 0;      ///< begin events without an end, and end events without a begin
    std::int64_t outside_window = 0; ///< events outside the requested steps or time
    std::int64_t thinned_out = 0;    ///< kernels omitted between an op's first and last kernel, in pipeline mode
    std::int64_t parts_removed = 0;  ///< parts of the trace removed because of the size limit

    friend bool operator==(const CaptureCounts&, const CaptureCounts&) = default;
};

/// Number of written ranges, marks and NCCL events.
[[nodiscard]] constexpr std::int64_t hostEvents(const CaptureCounts& counts) {
    return counts.ranges + counts.marks + counts.comm_events;
}

inline constexpr std::string_view kCaptureTotals = "capture totals";

/// All counts by name. Those from kFirstLoss on count missing data.
inline constexpr std::array<std::pair<std::string_view, std::int64_t CaptureCounts::*>, 15> kCaptureCounts{
    {{"ranges", &CaptureCounts::ranges},
     {"marks", &CaptureCounts::marks},
     {"comm_events", &CaptureCounts::comm_events},
     {"gpu_work", &CaptureCounts::gpu_work},
     {"gpu_calls", &CaptureCounts::gpu_calls},
     {"outside_window", &CaptureCounts::outside_window},
     {"thinned_out", &CaptureCounts::thinned_out},
     {"lost_in_rings", &CaptureCounts::lost_in_rings},
     {"not_written", &CaptureCounts::not_written},
     {"lost_in_cupti", &CaptureCounts::lost_in_cupti},
     {"lost_buffers", &CaptureCounts::lost_buffers},
     {"untimed", &CaptureCounts::untimed},
     {"damaged", &CaptureCounts::damaged},
     {"unmatched", &CaptureCounts::unmatched},
     {"parts_removed", &CaptureCounts::parts_removed}}};

/// Limits a count from untrusted memory, so that sums of several counts cannot overflow.
[[nodiscard]] constexpr std::int64_t plausibleCount(std::int64_t count) {
    return std::clamp<std::int64_t>(count, 0, std::int64_t{1} << 48);
}
[[nodiscard]] constexpr CaptureCounts plausibleCounts(CaptureCounts counts) {
    for (const auto& [name, member] : kCaptureCounts)
        counts.*member = plausibleCount(counts.*member);
    return counts;
}

inline constexpr std::size_t kFirstLoss = 7;

} // namespace bubblescope::perfetto
