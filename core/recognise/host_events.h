#pragma once

#include "core/recognise/gpu_work.h"
#include "core/timeline/step_timeline.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope {

/// The work of a rank's host, without any annotation of a pipeline.
enum class HostEventKind : std::uint8_t { Forward, Backward, Optimizer, Transfer, Collective };

struct HostEvent {
    HostEventKind kind = HostEventKind::Forward;
    TimeNs at{0};       ///< time of the event on the host
    TimeNs host_end{0}; ///< end of the call on the host
    GpuWork::Span work; ///< work on the device; on a CPU, on the host itself
    bool linked =
        false; ///< a forward whose gradients autograd computed later: neither optimizer nor creation of buffers
    std::uint64_t call = 0; ///< for a transfer or collective: a hash of its name, the same in all files
    // For a transfer, if known.
    std::optional<CommKind> direction;
    std::optional<std::int64_t> peer; ///< global rank
};

/// A forward and its backward, linked by the profiler: the times of both on the host.
struct AutogradLink {
    TimeNs forward{0};
    TimeNs backward{0};
};

struct HostEvents {
    std::vector<HostEvent> events;   ///< by `at`
    std::vector<AutogradLink> links; ///< by `forward`; empty if the trace has no flows between forward and backward
    bool on_device = false;          ///< times are those of a device
};

/// The events of one file: kernels by their launches or, if the host itself computes, its outermost operators.
/// Everything that runs under autograd is a backward; in a trace without operators, everything launched by a thread
/// other than the one that does the transfers. `own_rank` is the global rank that wrote the file.
[[nodiscard]] HostEvents hostEvents(const Trace& trace, std::uint32_t file, std::int64_t own_rank, const GpuWork& gpu,
                                    const JobControl& control);

} // namespace bubblescope
