#pragma once

#include "profiler/capture/gpu_writer.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

namespace bubblescope::profiler {

/// Of the kernels that an op starts, all but the first and the last are of no use for a pipeline: thins them out. An op
/// is a range of a thread on the host; a kernel belongs to it if its launch lies in it. Ranges, calls and kernels come
/// in any order and late; an op is settled some time after its end, when all its kernels must have been reported.
/// NCCL's kernels, which are transfers, stay. All times are CLOCK_MONOTONIC. One thread at a time.
class OpKernels {
public:
    using TimeOf = std::function<TimeNs(TimeNs realtime)>;
    using Write = std::function<void(const cupti::OwnedActivity&)>;

    OpKernels(TimeOf time_of, Write write, perfetto::CaptureCounts& counts)
        : time_of_(std::move(time_of)), write_(std::move(write)), counts_(counts) {}

    void addRange(std::uint32_t thread, TimeNs start, TimeNs end);
    void add(cupti::OwnedActivity activity);

    /// Writes what is settled by now: kernels outside of any op whole, of an op the first and last with their calls.
    void settle(TimeNs now);
    /// Writes the rest.
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
