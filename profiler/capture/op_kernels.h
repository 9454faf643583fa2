#pragma once

#include "profiler/capture/gpu_writer.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

namespace bubblescope::profiler {

/// Thins out kernels: of those that an op starts, only the first and the last matter to a pipeline. An op is a range of
/// a host thread; a kernel belongs to the op in which it was launched. Ranges, calls and kernels come in any order and
/// late; an op is settled some time after its end, when all its kernels must have been reported. Kernels of NCCL, which
/// are transfers, are all kept. Times are CLOCK_MONOTONIC. One thread at a time.
class OpKernels {
public:
    using TimeOf = std::function<TimeNs(TimeNs realtime)>;
    using Write = std::function<void(const cupti::OwnedActivity&)>;

    OpKernels(TimeOf time_of, Write write, perfetto::CaptureCounts& counts)
        : time_of_(std::move(time_of)), write_(std::move(write)), counts_(counts) {}

    void addRange(std::uint32_t thread, TimeNs start, TimeNs end);
    void add(cupti::OwnedActivity activity);

    /// Writes what is settled by now: all kernels outside of ops, and the first and last kernel of each op with their
    /// calls.
    void settle(TimeNs now);
    /// Settles and writes everything that is left.
    void finish() { settle(TimeNs::max()); }

private:
    struct Op {
        TimeNs end{0};
        std::vector<cupti::OwnedActivity> kernels;
    };
    using ThreadOps = std::map<TimeNs, Op>; ///< by start
    static constexpr std::size_t kMaxWaiting = 1 << 20;

    [[nodiscard]] bool isTransfer(const cupti::OwnedActivity& kernel) const;
    void writeOp(Op& op);
    void writeWithCall(const cupti::OwnedActivity& kernel);

    TimeOf time_of_;
    Write write_;
    perfetto::CaptureCounts& counts_;
    std::map<std::uint32_t, ThreadOps> ops_;
    std::unordered_map<std::uint32_t, cupti::OwnedActivity> calls_; ///< by correlation
    std::deque<cupti::OwnedActivity> kernels_;                      ///< that wait for their op
};

} // namespace bubblescope::profiler
