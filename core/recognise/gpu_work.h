#pragma once

#include "core/base/job.h"
#include "core/base/time.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace bubblescope {

/// The role of a kernel or copy on the device in a pipeline.
enum class WorkKind : std::uint8_t {
    Compute,
    Copy,         ///< within the device, or to and from the host
    Collective,   ///< of NCCL or RCCL, among all ranks of a group
    PointToPoint, ///< a send, a receive, or several of both in one kernel
};

/// The kernels, copies and sets of devices among a trace's slices. Not for several threads at once: it remembers what
/// it has classified.
class DeviceSlices {
public:
    explicit DeviceSlices(const Trace& trace);
    /// False for traces without any.
    [[nodiscard]] bool any() const { return !device_.empty(); }
    /// Whether the slice ran on a device, by its category.
    [[nodiscard]] bool contains(SliceId slice) const;
    /// Of a slice that did. Parses the args of kernels that move data between ranks.
    [[nodiscard]] WorkKind kind(SliceId slice);

private:
    enum class Moves : std::uint8_t { Unknown, Nothing, Data };

    const Trace& trace_;
    std::vector<StringId> device_;  ///< categories
    std::vector<StringId> kernels_; ///< those of them that are kernels'
    std::vector<Moves> moves_;      ///< by name: whether it moves data between ranks
};

/// Which work on a device was launched when by the host, by the correlation ids that CUPTI and similar libraries
/// record. If the launching calls were not recorded (most of a process's work has none), the operator with the kernels'
/// external id counts as the launch. Transfers between ranks (kernels of NCCL and RCCL) are kept separate, since they
/// last as long as they wait; the device is not idle during them, though.
class GpuWork {
public:
    struct Span {
        TimeNs start{0};
        TimeNs end{0};
    };
    struct Work {
        TimeNs start{0};
        TimeNs end{0};
        TimeNs idle{0}; ///< in between, with no work on the device from this launch interval
    };
    struct Launch {
        std::uint64_t process = 0;  ///< of one file
        TimeNs time{0};             ///< of the call on the host
        TimeNs returned{0};         ///< its end
        bool call = true;           ///< false for an operator that counts as the launch
        TrackId thread = 0;         ///< the track of the call
        std::int64_t of_thread = 0; ///< that called, see threadOf()
        WorkKind kind = WorkKind::Compute;
        SliceId first = kNoId; ///< first slice of what it started on the device; a launch of a graph starts many
                               ///< kernels
        Span work;             ///< if one launch started several kinds, of those that compute
    };

    /// Reads slices whose category is that of a launch (cuda_runtime, cuda_driver, …) or of device work (kernel,
    /// gpu_memcpy, …). Cheap for traces without such slices; otherwise it parses the args of each once, so construct it
    /// once per trace. If the job is stopped it is incomplete.
    explicit GpuWork(const Trace& trace, const JobControl& control);

    /// Whose launches count for a range of a thread: its own, and those of threads that work for it, as PyTorch's for
    /// backwards do. A thread that has ranges of its own works for no other, and where several have, nobody knows for
    /// whom the rest works.
    struct Threads {
        std::int64_t own = 0;            ///< see threadOf(); 0 = all threads count
        std::set<std::int64_t> with_ops; ///< of the process

        [[nodiscard]] bool count(std::int64_t thread) const {
            if (own == 0 || thread == 0 || thread == own) return true;
            return with_ops.size() <= 1 && !with_ops.contains(thread);
        }
    };

    /// From the first start to the last end of what a process's `threads` launched in [from, to], without transfers
    /// between ranks. Files of Kineto hold one process (`process` is then 0), exports of Nsight Systems several.
    /// Nothing if they launched nothing.
    [[nodiscard]] std::optional<Work> launchedIn(std::uint32_t file, std::int64_t process, TimeNs from, TimeNs to,
                                                 const Threads& threads) const;
    /// All launches of a process that started work on the device, by time.
    [[nodiscard]] std::span<const Launch> launches(std::uint32_t file, std::int64_t process) const;

    /// The number of a track's process in this class.
    [[nodiscard]] static std::int64_t processOf(const Trace& trace, const Track& track);
    /// The thread of a track of ranges or calls, as its file numbers it; 0 where it is not known.
    [[nodiscard]] static std::int64_t threadOf(const Trace& trace, TrackId track);
    /// A process of a file, as in Launch::process.
    [[nodiscard]] static std::uint64_t key(std::uint32_t file, std::int64_t process);

private:
    [[nodiscard]] std::vector<Launch>::const_iterator firstFrom(std::uint64_t process, TimeNs time) const;

    std::vector<Launch> launches_; ///< by process, then time; only those with work
};

/// Whether NCCL and RCCL use a kernel of this name to move data between ranks.
[[nodiscard]] bool movesBetweenRanks(std::string_view kernel);

} // namespace bubblescope
