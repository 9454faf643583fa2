#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

/// What the traces of recorded jobs state about themselves, in instants of their process: what the library that records
/// them writes and the reader must know.
namespace bubblescope::perfetto {

inline constexpr std::string_view kCaptureCategory = "capture";
inline constexpr std::string_view kCaptureBegins = "capture begins"; ///< one at the begin of each file
inline constexpr std::string_view kCaptureEnds = "capture ends"; ///< the last one, of a process that ended by itself
/// Arg of the first: what to add to the file's times for those of its host's wall clock, by which hosts are put
/// together.
inline constexpr std::string_view kCaptureOffset = "wall_clock_ahead_ns";

/// What a process recorded and what it lost, since its begin. The names are those of the args of the instant "capture
/// totals" in its trace, where each stands if it is not 0.
struct CaptureCounts {
    std::int64_t ranges = 0;         ///< NVTX, of all kinds
    std::int64_t marks = 0;          ///< NVTX
    std::int64_t comm_events = 0;    ///< NCCL's profiler interface
    std::int64_t gpu_work = 0;       ///< kernels, copies, sets, graphs
    std::int64_t gpu_calls = 0;      ///< of the driver and the runtime
    std::int64_t lost_in_rings = 0;  ///< records overwritten before they were written
    std::int64_t lost_in_cupti = 0;  ///< records that CUPTI dropped
    std::int64_t lost_buffers = 0;   ///< times that CUPTI got no buffer
    std::int64_t untimed = 0;        ///< records of CUPTI without times
    std::int64_t damaged = 0;        ///< records of CUPTI that end too early, or whose times cannot be
    std::int64_t unmatched = 0;      ///< ends without a begin, and begins that were given up
    std::int64_t outside_window = 0; ///< events outside of the steps or the time that were asked for
    std::int64_t thinned_out = 0;    ///< kernels between an op's first and last, in pipeline mode
    std::int64_t parts_removed = 0;  ///< of the trace, so that it keeps to its size

    friend bool operator==(const CaptureCounts&, const CaptureCounts&) = default;
};

inline constexpr std::string_view kCaptureTotals = "capture totals";

/// All counts by name; those from kFirstLoss on mean that something is missing.
inline constexpr std::array<std::pair<std::string_view, std::int64_t CaptureCounts::*>, 14> kCaptureCounts{
    {{"ranges", &CaptureCounts::ranges},
     {"marks", &CaptureCounts::marks},
     {"comm_events", &CaptureCounts::comm_events},
     {"gpu_work", &CaptureCounts::gpu_work},
     {"gpu_calls", &CaptureCounts::gpu_calls},
     {"outside_window", &CaptureCounts::outside_window},
     {"thinned_out", &CaptureCounts::thinned_out},
     {"lost_in_rings", &CaptureCounts::lost_in_rings},
     {"lost_in_cupti", &CaptureCounts::lost_in_cupti},
     {"lost_buffers", &CaptureCounts::lost_buffers},
     {"untimed", &CaptureCounts::untimed},
     {"damaged", &CaptureCounts::damaged},
     {"unmatched", &CaptureCounts::unmatched},
     {"parts_removed", &CaptureCounts::parts_removed}}};
inline constexpr std::size_t kFirstLoss = 7;

} // namespace bubblescope::perfetto
