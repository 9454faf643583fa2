#pragma once

#include "core/formats/perfetto/captured_values.h"
#include "profiler/capture/capture_options.h"
#include "profiler/capture/capture_writer.h"
#include "profiler/capture/run_queue.h"
#include "profiler/capture/wakeup.h"
#include "profiler/capture/watcher_link.h"
#include "profiler/cupti/collector.h"
#include "profiler/events/host_recorder.h"
#include "profiler/nccl/comm_event.h"
#include "profiler/nvtx/names.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::profiler {

/// Records the events of this process and writes its trace. The object is created when NVTX, NCCL or CUDA first loads
/// the library, and never destroyed. A separate thread writes the events several times a second and does all slow work.
/// The thread holds no lock while it writes files, loads libraries or calls CUPTI, so the job never waits for these
/// operations. No file is created before the first event. A forked child does nothing until it records something; it
/// then writes its own trace.
class Capture {
public:
    /// Returns null if nothing should be recorded. Never throws.
    [[nodiscard]] static Capture* ofThisProcess() noexcept;

    [[nodiscard]] const CaptureOptions& options() const { return options_; }
    [[nodiscard]] HostRecorder& recorder() { return recorder_; }
    [[nodiscard]] nvtx::Names& names() { return names_; }
    [[nodiscard]] nccl::Communicators& communicators() { return communicators_; }

    /// Records a property that the job's framework reports about itself; see perfetto::kCaptureStates. Any thread. This
    /// function and the next two never wait for a write.
    void state(std::string_view name, std::string_view value) noexcept;
    void event(StatedEvent event) noexcept;
    /// Records what the job's framework reports about a finished step; see perfetto::kCaptureStepValues. Any thread.
    void stepValues(std::int64_t step, const StepValues& values) noexcept;
    /// Records a message for the user in the trace and in capture.log.
    void message(std::string_view text) noexcept;

    /// Called when CUDA has been initialised in this process: starts CUPTI unless another tool uses it.
    void startCuda() noexcept;
    /// Leaves CUPTI to `tool` for the rest of the process: only one tool can use it at a time, and a profiler that the
    /// job itself starts takes precedence. Records collected so far are kept. Any thread.
    void releaseCupti(std::string_view tool) noexcept;

private:
    explicit Capture(CaptureOptions options, std::vector<std::string> problems);

    EventMemory* beginProcess(bool forked) noexcept;
    void describeProcess(event_memory::Header& header, TimeNs began) const;
    void makeWriter(EventMemory& memory, TimeNs began);
    void wake() noexcept;
    void log(const std::string& message) const;
    void loop() noexcept;
    /// Writes the events recorded so far. Returns the longest time to wait before the next cycle.
    [[nodiscard]] TimeNs cycle(bool last);
    void takeQueue(CaptureWriter& writer);
    void lookAtRunQueue(CaptureWriter& writer, const EventMemory& memory, TimeNs now);
    enum class Flush : std::uint8_t { Usual, Retry, Last };
    [[nodiscard]] bool drain(CaptureWriter& writer, TimeNs now, bool last);
    [[nodiscard]] bool write(CaptureWriter& writer, TimeNs now, Flush what);
    void stateAccount(CaptureWriter& writer, EventMemory& memory, bool written);
    void flushGpu(TimeNs now);
    void switchKernels(CaptureWriter& writer, TimeNs now);
    void stopGpu() noexcept;
    void askToStopGpu() noexcept;
    void stop() noexcept;

    /// Data passed from the job's threads to the writing thread.
    struct Queue {
        std::vector<std::pair<std::string, std::string>> states;
        std::vector<StatedEvent> events;
        std::vector<std::string> messages;
    };

    CaptureOptions options_;
    nvtx::Names names_;
    nccl::Communicators communicators_;
    WatcherLink link_;
    HostRecorder recorder_;

    std::mutex queue_mutex_;
    Queue queue_;

    std::atomic<cupti::Collector*> gpu_{nullptr}; ///< never deleted
    std::atomic<bool> cupti_taken_{false};        ///< true if we use CUPTI, or have left it to another tool
    std::atomic<bool> cupti_released_{false};     ///< true if we have left it

    enum class ThreadState : int { None, Runs, Ended };
    std::atomic<ThreadState> thread_{ThreadState::None};
    std::atomic<bool> stopping_{false};
    std::atomic<bool> stop_gpu_{false};
    Wakeup wakeup_; ///< wakes the writing thread
    Wakeup done_;   ///< increased when the writing thread has finished the request

    // Used only by the writing thread:
    std::unique_ptr<CaptureWriter> writer_;
    std::unique_ptr<EventReader> reader_;
    std::vector<cupti::OwnedActivity> activities_;
    TimeNs gpu_flushed_{0};
    TimeNs stuck_at_{0}; ///< time when a flush last failed; 0 if the last flush succeeded
    std::string told_;   ///< reason for the last reported failure
    bool over_ = false;
    RunQueue run_queue_;
    TimeNs looked_at_{0}; ///< time of the last call to waitedSince()
};

} // namespace bubblescope::profiler
