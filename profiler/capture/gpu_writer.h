#pragma once

#include "core/base/reserved_memory.h"
#include "core/formats/perfetto/capture_names.h"
#include "profiler/capture/capture_file.h"
#include "profiler/capture/capture_options.h"
#include "profiler/cupti/names.h"
#include "profiler/events/tick_clock.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bubblescope::profiler {

/// Writes CUPTI's activities with the categories and arguments of PyTorch's profiler: one track per stream for GPU work
/// and one per thread for API calls. Allocations become a counter of reserved memory per device. Not thread-safe.
class GpuWriter {
public:
    GpuWriter(CaptureFile& file, const TickMap& clocks, const CaptureWindow& window, perfetto::CaptureCounts& counts,
              cupti::CallName call_name)
        : file_(file), clocks_(clocks), window_(window), counts_(counts), names_(std::move(call_name)) {}

    void write(const cupti::OwnedActivity& activity);
    /// Writes changes of reserved memory, except for the last two seconds, because earlier records may still arrive.
    void settle(TimeNs now);
    /// Writes the remaining changes.
    void finish() { settle(TimeNs::max()); }
    /// Call this when a new part of the file begins, which has to contain the current values.
    void beginPart();

private:
    enum class Row : std::uint8_t { Stream, Synchronization, Calls, Overhead };
    using RowKey = std::tuple<Row, std::uint32_t, std::uint32_t, std::uint32_t>; ///< device, stream, context

    /// Numbers of streams repeat between the contexts of a device; `context` is 0 for rows that are not streams.
    Lanes& row(Row kind, std::uint32_t device, std::uint32_t stream, std::uint32_t context = 0);
    void add(Lanes& row, const cupti::OwnedActivity& given, const OwnedArgs& args);
    void addWork(const cupti::OwnedActivity& given);
    void addCall(const cupti::OwnedActivity& given);
    void tellDevice(const cupti::OwnedActivity& given);
    void applyMemory(const cupti::Activity& change);
    void tellReserved();

    struct Counter {
        CaptureFile::TrackNumber track = 0;
        bool told = false; ///< true if this part contains a value
    };

    CaptureFile& file_;
    const TickMap& clocks_;
    const CaptureWindow& window_;
    perfetto::CaptureCounts& counts_;
    cupti::ActivityNames names_;
    std::map<RowKey, Lanes> rows_;
    /// Not yet applied; a release may arrive before its allocation.
    std::multimap<TimeNs, cupti::Activity> memory_changes_;
    ReservedMemory reserved_;
    std::map<std::int64_t, Counter> counters_; ///< of reserved memory, by device
    TimeNs settled_{TimeNs::min()};            ///< latest time up to which changes were applied
    TimeNs part_from_{TimeNs::min()};          ///< value of `settled_` at the beginning of the part
};

/// Drops kernels that a pipeline trace does not need: of the kernels launched by an op, only the first and last are
/// kept. An op is a range of a host thread; a kernel belongs to the op in which it was launched, by the same thread or
/// by one that has no ops. Ranges, calls and kernels arrive late and in any order. An op is settled some time after its
/// end, when all its kernels must have been reported. NCCL kernels, which are transfers, are all kept. Times are
/// CLOCK_MONOTONIC. Not thread-safe.
class OpKernels {
public:
    using Write = std::function<void(const cupti::OwnedActivity&)>;

    OpKernels(Write write, perfetto::CaptureCounts& counts) : write_(std::move(write)), counts_(counts) {}

    void addRange(std::uint32_t thread, TimeNs start, TimeNs end);
    void add(cupti::OwnedActivity activity);

    /// Writes all settled kernels: those outside ops, and the first and last kernel of each op with their
    /// calls.
    void settle(TimeNs now);
    /// Settles and writes all remaining kernels.
    void finish() { settle(TimeNs::max()); }

private:
    struct Op {
        TimeNs end{0};
        std::vector<cupti::OwnedActivity> kernels;
    };
    using ThreadOps = std::map<TimeNs, Op>; ///< by start
    static constexpr std::size_t kMaxWaiting = 1 << 20;

    [[nodiscard]] bool isTransfer(const cupti::OwnedActivity& kernel) const;
    [[nodiscard]] static Op* opAt(ThreadOps& ops, TimeNs launched);
    [[nodiscard]] Op* opOf(const cupti::Activity& call);
    void writeOp(Op& op);
    void writeWithCall(const cupti::OwnedActivity& kernel);

    Write write_;
    perfetto::CaptureCounts& counts_;
    std::map<std::uint32_t, ThreadOps> ops_;
    std::unordered_map<std::uint32_t, cupti::OwnedActivity> calls_; ///< by correlation
    std::deque<cupti::OwnedActivity> kernels_;                      ///< kernels waiting for their op
};

} // namespace bubblescope::profiler
