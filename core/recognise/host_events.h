#pragma once

#include "core/recognise/gpu_work.h"
#include "core/timeline/step_timeline.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope {

/// The kinds of host work in a rank's trace without pipeline annotations.
enum class HostEventKind : std::uint8_t { Forward, Backward, Optimizer, Transfer, Collective };

struct HostEvent {
    HostEventKind kind = HostEventKind::Forward;
    TimeNs at{0};           ///< time of the event on the host
    TimeNs host_end{0};     ///< end of the call on the host
    GpuWork::Span work;     ///< work on the device or, in a CPU run, on the host
    bool linked = false;    ///< true if autograd computed gradients for it later; false for optimizers and
                            ///< buffers
    std::uint64_t call = 0; ///< for a transfer or collective: hash of its name, the same in all files
    // Direction of a transfer, if known.
    std::optional<CommKind> direction;
    std::optional<std::int64_t> peer; ///< global rank
    std::uint32_t communicator = 0;   ///< 1 + index into HostEvents::communicators; 0 if unknown
};

/// A forward and its backward, linked by the profiler. Both times are host times.
struct AutogradLink {
    TimeNs forward{0};
    TimeNs backward{0};
};

struct HostEvents {
    std::vector<HostEvent> events;   ///< by `at`
    std::vector<AutogradLink> links; ///< by `forward`; empty if the trace has no flows between forward and backward
    std::vector<std::string> communicators; ///< names of the transfers' communicators, see communicatorName()
    bool on_device = false;                 ///< true if times are from a device
};

/// The events of one file: the launches of kernels or, in CPU runs, the outermost operators. All work that runs under
/// autograd is a backward. In a trace without operators, this includes all work launched by threads other than the one
/// that launches transfers. `own_rank` is the global rank that wrote the file.
[[nodiscard]] HostEvents hostEvents(const Trace& trace, std::uint32_t file, std::int64_t own_rank, const GpuWork& gpu,
                                    const JobControl& control);

} // namespace bubblescope
