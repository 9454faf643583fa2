#pragma once

#include "core/base/job.h"
#include "core/base/time.h"
#include "core/recognise/communication.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace bubblescope {

/// The kernels, copies and memsets of devices among a trace's slices. Not thread-safe, because it caches
/// classifications.
class DeviceSlices {
public:
    explicit DeviceSlices(const Trace& trace);
    /// False for traces without any.
    [[nodiscard]] bool any() const { return trace_.lanes().anyWork(); }
    /// True if the slice ran on a device, by its lane.
    [[nodiscard]] bool contains(SliceId slice) const { return Lanes::isWork(laneOf(slice)); }
    /// The kind of a slice that ran on a device. Parses the args of kernels that move data between ranks.
    [[nodiscard]] WorkKind kind(SliceId slice);

private:
    enum class Named : std::uint8_t { Unknown, Compute, Copy, Transfer };

    [[nodiscard]] LaneKind laneOf(SliceId slice) const {
        return trace_.laneOf(slice, trace_.sliceCategories()[slice] == 0 ? trace_.sliceTracks()[slice] : 0);
    }
    [[nodiscard]] Named named(StringId name);

    const Trace& trace_;
    std::vector<Named> named_; ///< information that a name reveals; by StringId
};

/// The device work that the host launched, and the launches, linked by the correlation ids that CUPTI and similar
/// libraries record. If the launching calls were not recorded (most of a process's work has none), the operator with
/// the kernels' external id counts as the launch. Transfers between ranks (communication.h) are kept separate, because
/// they last as long as they wait; the device is not idle during them, though.
class GpuWork {
public:
    struct Span {
        TimeNs start{0};
        TimeNs end{0};
    };
    struct Work {
        TimeNs start{0};
        TimeNs end{0};
        TimeNs idle{0};          ///< idle time in between, without device work launched in the interval
        std::int64_t device = 0; ///< the device that did most of the work, see deviceOf()
    };
    struct Launch {
        std::uint64_t process = 0;  ///< process of one file
        TimeNs time{0};             ///< start of the call on the host
        TimeNs returned{0};         ///< end of the call on the host
        bool call = true;           ///< false for an operator that counts as the launch
        TrackId thread = 0;         ///< the track of the call
        std::int64_t of_thread = 0; ///< the calling thread, see threadOf()
        WorkKind kind = WorkKind::Compute;
        SliceId first = kNoId;   ///< first slice that it started on the device; a graph launch starts many kernels
        Span work;               ///< if one launch started several kinds, only those that compute
        std::int64_t device = 0; ///< device of `first`, see deviceOf()
    };

    /// Reads slices whose category is that of a launch (cuda_runtime, cuda_driver, …) or of device work (kernel,
    /// gpu_memcpy, …). Cheap for traces without such slices; otherwise it parses the args of each once, so construct it
    /// once per trace. If the job is stopped, it is incomplete.
    explicit GpuWork(const Trace& trace, const JobControl& control);

    /// The threads whose launches count for a range of a thread: the thread itself, and threads that work for it, as
    /// PyTorch's do for backwards. A thread that has ranges of its own works for no other. If several threads have
    /// ranges, each other thread works for the one that launches work on the same device, or for none.
    struct Threads {
        std::int64_t own = 0;                           ///< see threadOf(); 0 = all threads count
        std::set<std::int64_t> with_ops;                ///< threads of the process that have ops
        std::map<std::int64_t, std::int64_t> works_for; ///< threads without ops, by the thread that they work for, if
                                                        ///< several threads have ops

        [[nodiscard]] bool count(std::int64_t thread) const {
            if (own == 0 || thread == 0 || thread == own) return true;
            if (with_ops.size() <= 1) return !with_ops.contains(thread);
            const auto helper = works_for.find(thread);
            return helper != works_for.end() && helper->second == own;
        }
    };

    /// The time from the first start to the last end of the work that a process's `threads` launched in [from, to],
    /// without transfers between ranks. Kineto's files have one process (`process` is then 0), exports of Nsight
    /// Systems several. Empty if they launched nothing.
    [[nodiscard]] std::optional<Work> launchedIn(std::uint32_t file, std::int64_t process, TimeNs from, TimeNs to,
                                                 const Threads& threads) const;
    /// Maps each thread of a process without ops to the thread that it works for, according to the devices that they
    /// launch work on.
    [[nodiscard]] std::map<std::int64_t, std::int64_t> helpersOf(std::uint32_t file, std::int64_t process,
                                                                 const std::set<std::int64_t>& with_ops) const;
    /// All launches of a process that started work on the device, by time.
    [[nodiscard]] std::span<const Launch> launches(std::uint32_t file, std::int64_t process) const;

    /// The number of a track's process in this class.
    [[nodiscard]] static std::int64_t processOf(const Trace& trace, const Track& track);
    /// The thread of a track of ranges or calls, by the file's number; 0 if unknown.
    [[nodiscard]] static std::int64_t threadOf(const Trace& trace, TrackId track);
    /// A number for the device that a track belongs to, distinct for the devices of one process.
    [[nodiscard]] static std::int64_t deviceOf(const Trace& trace, TrackId track);
    /// A process of a file, as in Launch::process.
    [[nodiscard]] static std::uint64_t key(std::uint32_t file, std::int64_t process);

private:
    [[nodiscard]] std::vector<Launch>::const_iterator firstFrom(std::uint64_t process, TimeNs time) const;

    std::vector<Launch> launches_; ///< by process, then time; only those with work
};

} // namespace bubblescope
