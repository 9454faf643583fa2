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

/// Finds the kernels, copies and memsets of devices among a trace's slices. Not thread-safe, because it caches
/// classifications.
class DeviceSlices {
public:
    explicit DeviceSlices(const Trace& trace);
    /// True if the trace contains device work.
    [[nodiscard]] bool any() const { return trace_.lanes().anyWork(); }
    /// True if the lane of the slice belongs to a device.
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
    std::vector<Named> named_; ///< information derived from a name; by StringId
};

/// The device work that the host launched, and its launches, linked by the correlation ids that CUPTI and similar
/// libraries record. If the launching calls of most of a process's work were not recorded, the operator with the
/// kernels' external id serves as the launch. Transfers between ranks (communication.h) are stored separately, because
/// they include waiting time. Transfers do not count as device idle time.
class GpuWork {
public:
    struct Span {
        TimeNs start{0};
        TimeNs end{0};
    };
    struct Work {
        TimeNs start{0};
        TimeNs end{0};
        TimeNs idle{0};          ///< time within the span when none of the launched device work ran
        std::int64_t device = 0; ///< the device that ran most of the work; see deviceOf()
    };
    struct Launch {
        std::uint64_t process = 0;  ///< process number within one file
        TimeNs time{0};             ///< start of the call on the host
        TimeNs returned{0};         ///< end of the call on the host
        bool call = true;           ///< false for an operator that is used as the launch
        TrackId thread = 0;         ///< the track of the call
        std::int64_t of_thread = 0; ///< the calling thread; see threadOf()
        WorkKind kind = WorkKind::Compute;
        SliceId first = kNoId;   ///< first slice started on the device; a graph launch starts many kernels
        Span work;               ///< if the launch started several kinds of work, only the computing kernels
        std::int64_t device = 0; ///< device of `first`; see deviceOf()
    };

    /// Reads slices in the categories of launches (cuda_runtime, cuda_driver, …) and of device work (kernel,
    /// gpu_memcpy, …). Cheap for traces without such slices. Otherwise the args of each slice are parsed, so construct
    /// one object per trace. The object is incomplete if the job is stopped.
    explicit GpuWork(const Trace& trace, const JobControl& control);

    /// The threads whose launches count towards a thread's ranges: the thread itself and its helper threads, such as
    /// PyTorch's backward threads. A thread with ranges is not a helper of another thread. If several threads have
    /// ranges, each other thread is a helper of the one that launches work on the same device, if any.
    struct Threads {
        std::int64_t own = 0;                           ///< see threadOf(); 0: all threads count
        std::set<std::int64_t> with_ops;                ///< threads of the process that have ops
        std::map<std::int64_t, std::int64_t> works_for; ///< for each helper thread, the thread with ops that it works
                                                        ///< for, if several threads have ops

        [[nodiscard]] bool count(std::int64_t thread) const {
            if (own == 0 || thread == 0 || thread == own) return true;
            if (with_ops.size() <= 1) return !with_ops.contains(thread);
            const auto helper = works_for.find(thread);
            return helper != works_for.end() && helper->second == own;
        }
    };

    /// The span from the first start to the last end of the work that a process's `threads` launched in [from, to],
    /// excluding transfers between ranks. Files from Kineto have a single process (`process` is then 0); exports from
    /// Nsight Systems may have several. None if nothing was launched.
    [[nodiscard]] std::optional<Work> launchedIn(std::uint32_t file, std::int64_t process, TimeNs from, TimeNs to,
                                                 const Threads& threads) const;
    /// The first transfer between ranks that a thread launched in [from, to]; null if there is none.
    [[nodiscard]] const Launch* transferIn(std::uint32_t file, std::int64_t process, TimeNs from, TimeNs to,
                                           std::int64_t thread) const;
    /// Maps each thread without ops in a process to the thread that it helps, based on the devices on which both launch
    /// work.
    [[nodiscard]] std::map<std::int64_t, std::int64_t> helpersOf(std::uint32_t file, std::int64_t process,
                                                                 const std::set<std::int64_t>& with_ops) const;
    /// All launches of a process that started work on the device, sorted by time.
    [[nodiscard]] std::span<const Launch> launches(std::uint32_t file, std::int64_t process) const;

    /// The number that this class uses for a track's process.
    [[nodiscard]] static std::int64_t processOf(const Trace& trace, const Track& track);
    /// The thread number recorded in the file for a track of ranges or calls; 0 if unknown.
    [[nodiscard]] static std::int64_t threadOf(const Trace& trace, TrackId track);
    /// A number for the device of a track, unique within a process.
    [[nodiscard]] static std::int64_t deviceOf(const Trace& trace, TrackId track);
    /// The key for a process of a file, as in Launch::process.
    [[nodiscard]] static std::uint64_t key(std::uint32_t file, std::int64_t process);

private:
    [[nodiscard]] std::vector<Launch>::const_iterator firstFrom(std::uint64_t process, TimeNs time) const;

    std::vector<Launch> launches_; ///< launches with device work, by process, then time
};

} // namespace bubblescope
