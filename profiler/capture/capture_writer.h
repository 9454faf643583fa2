#pragma once

#include "core/base/time.h"
#include "core/formats/perfetto/capture_names.h"
#include "profiler/capture/capture_file.h"
#include "profiler/capture/capture_options.h"
#include "profiler/capture/comm_writer.h"
#include "profiler/capture/gpu_writer.h"
#include "profiler/capture/host_writer.h"
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

/// An event that a framework's adapter reports with its times (CLOCK_MONOTONIC), such as a check in a bubble: a slice,
/// or an instant of the process if start and end are equal.
struct StatedEvent {
    std::string track;
    std::string category;
    std::string name;
    TimeNs start{0};
    TimeNs end{0};
    OwnedArgs args;
};

/// Writes the trace of a process: the events of its threads, CUPTI's activities, counts of lost records, and messages
/// to the user. Not thread-safe.
class CaptureWriter {
public:
    /// `names` and `communicators` must outlive it.
    CaptureWriter(const CaptureOptions& options, CaptureFileInfo info, const nvtx::Names& names,
                  const nccl::Communicators& communicators, cupti::CallName call_name);
    CaptureWriter(const CaptureWriter&) = delete;
    CaptureWriter& operator=(const CaptureWriter&) = delete;

    /// Call it before taking the records made since the last reading.
    void addReading(const ClockReading& reading);
    void take(std::uint32_t tid, const HostRecord& record, bool after_gap);
    /// Call it after taking the host's records of the same time, which determine the steps. Times are CLOCK_MONOTONIC.
    /// Sorts `activities`.
    void take(std::vector<cupti::OwnedActivity>& activities);
    /// Ignores events outside of the recorded steps.
    void take(const StatedEvent& event);
    /// Records how long a thread waited for a core, at some time between two polls.
    void addWaitForCore(TimeInterval looks, TimeNs waited);
    /// Writes a message to the user once.
    void addMessage(std::string_view message);
    /// Writes a statement of the job's framework about itself (perfetto::kCaptureStates) into each part; a new value of
    /// a name replaces the old one.
    void addStatement(std::string_view name, std::string_view value);

    /// The writer adds its counts to those of records lost elsewhere.
    [[nodiscard]] perfetto::CaptureCounts& counts() { return counts_; }

    /// Writes to the file. `now` is CLOCK_MONOTONIC. Error: Run; the next flush tries again.
    [[nodiscard]] Status flush(TimeNs now);
    /// The last flush, including what waited for further records. Ranges that are still open count as unmatched.
    [[nodiscard]] Status finish(TimeNs now);
    /// The events taken since the last flush should be flushed before taking more.
    [[nodiscard]] bool isFilled() const { return file_.isStuck() || file_.waiting() >= file_.mostWaiting(); }

    /// Makes each flush store in the memory what another process needs to continue the file; `reader` is the source of
    /// the records. Both must outlive all flushes.
    void keepCheckpoints(EventMemory& memory, const EventReader& reader);
    /// Continues the file of a process that has ended, from the checkpoint in its memory. Call it first.
    [[nodiscard]] Status resume(const EventMemory& memory);
    /// The last flush of such a file: everything that the process began but will not end counts as unmatched. `signal`:
    /// the name of the signal that ended the process, or empty.
    [[nodiscard]] Status finishResumed(TimeNs now, const std::string& signal);
    /// The name of the file in a checkpoint; empty if there is none.
    [[nodiscard]] static std::string checkpointedFile(const event_memory::FileCheckpoint& checkpoint);
    /// What the process has written, as it states itself: what is to be found in its files.
    struct Stated {
        perfetto::CaptureCounts counts;
        std::int64_t files = 0;
    };
    /// As of the last flush, which is the last one of a process that ended by itself.
    [[nodiscard]] static Stated stated(const EventMemory& memory);
    [[nodiscard]] Stated stated() const;
    /// Number of ranges that have begun, and have not ended.
    [[nodiscard]] std::int64_t openRanges() const {
        return host_.openInFile() + static_cast<std::int64_t>(host_.waiting() + comm_.waiting());
    }

    [[nodiscard]] bool isOver(TimeNs now) const { return window_.isOver(now); }
    [[nodiscard]] const CaptureFile& file() const { return file_; }

private:
    [[nodiscard]] bool isPlausible(const cupti::Activity& activity) const;
    [[nodiscard]] Status writeOut(TimeNs now);
    void prepareCheckpoint(std::int64_t file_bytes);
    void useCheckpoint();
    void countOpen();
    void tellTotals(TimeNs now);
    void tellStatements(TimeNs now);
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
    EventMemory* memory_ = nullptr;
    const EventReader* reader_ = nullptr;
    std::vector<std::string> messages_; ///< messages that wait until the file has begun
    OwnedArgs statements_;
    bool stated_ = true;              ///< whether this part holds them
    perfetto::CaptureCounts flushed_; ///< with the last flush
    perfetto::CaptureCounts told_;
    std::int64_t open_counted_ = 0; ///< open ranges counted as unmatched
    TimeNs told_at_{0};
    TimeNs active_at_{0}; ///< when the host last recorded something, as far as drained
    TimeNs stood_at_{0};  ///< when it was last reported to be stuck
    bool active_ = false; ///< whether it was active since the last flush
    TimeNs clocks_at_{0};
    bool begun_ = false; ///< whether anything was recorded
};

} // namespace bubblescope::profiler
