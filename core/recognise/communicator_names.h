#pragma once

#include "core/base/time.h"
#include "core/recognise/gpu_work.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {

/// The process group in the args that PyTorch's profiler (Kineto) adds to record_param_comms and to NCCL's kernels, as
/// "default_pg 0"; empty if the slice has none.
[[nodiscard]] std::string processGroupOf(const Trace& trace, SliceId slice);

/// The name of the communicator that ran a kernel, such as "default_pg 0, stream 20"; empty if the group is empty.
/// PyTorch's NCCL backend may create several communicators per process group (one for batched transfers, one per pair
/// of ranks for others), each with its own stream. Transfers of a rank with equal names therefore share a communicator.
[[nodiscard]] std::string communicatorName(const Trace& trace, const std::string& group, SliceId kernel);

/// The process groups of the sends and receives that threads posted. For transfers in a batch, kernels do not record
/// their process group, but the calls do.
class PostedGroups {
public:
    explicit PostedGroups(const Trace& trace);
    /// The group of the first send or receive posted in [from, to]; empty if unknown. `thread` as in GpuWork::Launch.
    [[nodiscard]] std::string in(std::uint32_t file, std::int64_t thread, TimeNs from, TimeNs to) const;

private:
    const Trace& trace_;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<std::pair<TimeNs, SliceId>>> calls_; ///< by start
};

} // namespace bubblescope
