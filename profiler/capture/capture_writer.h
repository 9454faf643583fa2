#pragma once

#include "core/base/time.h"
#include "core/formats/perfetto/capture_names.h"
#include "profiler/capture/capture_file.h"
#include "profiler/capture/capture_options.h"
#include "profiler/capture/comm_writer.h"
#include "profiler/capture/gpu_writer.h"
#include "profiler/capture/host_writer.h"
#include "profiler/capture/kernel_steps.h"
#include "profiler/events/event_memory.h"
#include "profiler/events/tick_clock.h"
#include "profiler/nccl/comm_event.h"
#include "profiler/nvtx/names.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::profiler {

/// An event that a framework's adapter reports with its times (CLOCK_MONOTONIC), such as a check in a bubble. The event
/// is a slice, or an instant of the process if start and end are equal.
struct StatedEvent {
    std::string track;
    std::string category;
    std::string name;
    TimeNs start{0};
    TimeNs end{0};
    OwnedArgs args;
};

/// Writes the trace of a process: the events of its threads, CUPTI's activities, counts of lost records, and messages
/// for the user. Not thread-safe.
class CaptureWriter {
public:
    /// `names` and `communicators` must outlive the writer.
    CaptureWriter(const CaptureOptions& options, CaptureFileInfo info, const nvtx::Names& names,
                  const nccl::Communicators& communicators, cupti::CallName call_name);
    CaptureWriter(const CaptureWriter&) = delete;
    CaptureWriter& operator=(const CaptureWriter&) = delete;

    /// Call this before taking records that are newer than the previous reading.
    void addReading(const ClockReading& reading);
    void take(std::uint32_t tid, const HostRecord& record, bool after_gap);
    /// Call this after taking the host's records from the same period, which determine the steps. Times are
    /// CLOCK_MONOTONIC. Sorts `activities`.
    void take(std::vector<cupti::OwnedActivity>& activities);
    /// Ignores events outside the recorded steps.
    void take(const StatedEvent& event);
    /// Records that a thread waited this long for a core between two polls.
    void addWaitForCore(TimeInterval looks, TimeNs waited);
    /// Writes a message for the user once.
    void addMessage(std::string_view message);
    /// Writes a property that the job's framework reports (perfetto::kCaptureStates) into each part; a new value
    /// replaces the old one of the same name.
    void addStatement(std::string_view name, std::string_view value);

    /// Counts of lost records, to which the writer adds its own losses.
    [[nodiscard]] perfetto::CaptureCounts& counts() { return counts_; }

    /// Writes to the file. `now` is CLOCK_MONOTONIC. Error: Run; the next flush tries again.
    [[nodiscard]] Status flush(TimeNs now);
    /// Performs the last flush, which also writes events that were waiting for later records. Ranges that are still
    /// open are counted as unmatched.
    [[nodiscard]] Status finish(TimeNs now);
    /// True if the events taken so far should be flushed before taking more.
    [[nodiscard]] bool isFilled() const { return file_.isStuck() || file_.waiting() >= file_.mostWaiting(); }

    /// Makes each flush store a checkpoint in `memory`, from which another process can continue the file; `reader`
    /// supplies the records. Both arguments must outlive all flushes.
    void keepCheckpoints(EventMemory& memory, const EventReader& reader);
    /// Continues the file of a process that has ended, from the checkpoint in its memory. Must be called first.
    [[nodiscard]] Status resume(const EventMemory& memory);
    /// Performs the last flush of a resumed file, and counts everything that the process left open as unmatched.
    /// `signal` is the name of the signal that ended the process; may be empty.
    [[nodiscard]] Status finishResumed(TimeNs now, const std::string& signal);
    /// Returns the name of the file in a checkpoint; empty if there is none.
    [[nodiscard]] static std::string checkpointedFile(const event_memory::FileCheckpoint& checkpoint);
    /// True if the file was empty before the write that the checkpoint describes.
    [[nodiscard]] static bool beginsFile(const event_memory::FileCheckpoint& checkpoint);
    /// Amounts written, as reported by the process itself, for comparison with its files.
    struct Stated {
        perfetto::CaptureCounts counts;
        std::int64_t files = 0;
    };
    /// Amounts at the last flush, which is the final one if the process ended normally.
    [[nodiscard]] static Stated stated(const EventMemory& memory);
    [[nodiscard]] Stated stated() const;
    /// Number of ranges that have begun and not ended.
    [[nodiscard]] std::int64_t openRanges() const {
        return host_.openInFile() + static_cast<std::int64_t>(host_.waiting() + comm_.waiting());
    }

    /// The choice of steps with kernels; null if kernels are recorded in all steps.
    [[nodiscard]] KernelSteps* kernelSteps() { return kernel_steps_ ? &*kernel_steps_ : nullptr; }

    [[nodiscard]] bool isOver(TimeNs now) const { return window_.isOver(now); }
    [[nodiscard]] const CaptureFile& file() const { return file_; }

private:
    [[nodiscard]] bool isNear(TimeNs earliest, TimeNs latest) const;
    [[nodiscard]] bool isPlausible(const cupti::Activity& activity) const;
    [[nodiscard]] Status writeOut(TimeNs now);
    void prepareCheckpoint(std::optional<std::int64_t> file_bytes = {});
    void useCheckpoint();
    void countOpen();
    void tellTotals(TimeNs now);
    void tellStatements(TimeNs now);
    void tellKernelSteps(TimeNs now);
    void tellWhereItStands(TimeNs now);

    perfetto::CaptureCounts counts_;
    TickMap clocks_;
    CaptureWindow window_;
    CaptureFile file_;
    HostWriter host_;
    CommWriter comm_;
    GpuWriter gpu_;
    std::map<std::string, Lanes> stated_tracks_; ///< by name
    std::optional<OpKernels> thinning_;
    std::optional<KernelSteps> kernel_steps_;
    std::string kernels_every_; ///< its number
    EventMemory* memory_ = nullptr;
    const EventReader* reader_ = nullptr;
    std::vector<std::string> messages_; ///< messages held until the file has begun
    OwnedArgs statements_;
    bool stated_ = true;              ///< true if this part contains the job's properties
    perfetto::CaptureCounts flushed_; ///< counts at the last flush
    perfetto::CaptureCounts told_;
    std::int64_t open_counted_ = 0; ///< number of open ranges counted as unmatched
    TimeNs told_at_{0};
    TimeNs active_at_{0}; ///< time of the last host record drained
    TimeNs stood_at_{0};  ///< time when the process was last reported to be stuck
    bool active_ = false; ///< true if anything was recorded since the last flush
    TimeNs clocks_at_{0};
    bool begun_ = false; ///< true if anything was recorded
};

} // namespace bubblescope::profiler
