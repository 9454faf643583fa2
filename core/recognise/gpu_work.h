#pragma once

#include "core/base/time.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace bubblescope {

/// Which work on a device was launched when by the host, by the correlation ids that CUPTI and its likes record.
/// Transfers between ranks (kernels of NCCL and RCCL) do not count as work, since they last as long as they wait; a
/// device in one of them is not idle, though.
class GpuWork {
public:
    /// Looks at slices whose category is that of a launch (cuda_runtime, cuda_driver, …) or of device work (kernel,
    /// gpu_memcpy, …). Cheap for traces that have none.
    explicit GpuWork(const Trace& trace);

    struct Span {
        TimeNs start{0};
        TimeNs end{0};
    };
    struct Work {
        TimeNs start{0};
        TimeNs end{0};
        TimeNs idle{0}; ///< in between, with nothing on the device that was launched there
    };
    /// From the first start to the last end of what a process launched in [from, to]. Files of Kineto hold one process
    /// (`process` is then 0), exports of Nsight Systems several. Nothing if it launched nothing.
    [[nodiscard]] std::optional<Work> launchedIn(std::uint32_t file, std::int64_t process, TimeNs from,
                                                 TimeNs to) const;

    [[nodiscard]] bool empty() const { return launches_.empty(); }
    /// The number under which a track's process goes here.
    [[nodiscard]] static std::int64_t processOf(const Trace& trace, const Track& track);

private:
    struct Launch {
        std::uint64_t process = 0; ///< of one file
        TimeNs time{0};
        Span work;
        bool moves_data = false;
    };
    [[nodiscard]] static std::uint64_t key(std::uint32_t file, std::int64_t process);

    std::vector<Launch> launches_; ///< by process, then time; those with work only
};

} // namespace bubblescope
