#pragma once

#include "core/formats/perfetto/captured_values.h"
#include "profiler/capture/capture_options.h"
#include "profiler/capture/capture_writer.h"
#include "profiler/cupti/collector.h"
#include "profiler/events/host_recorder.h"
#include "profiler/nccl/comm_event.h"
#include "profiler/nvtx/names.h"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bubblescope::profiler {

/// The recording of this process. It is created when NVTX, NCCL or CUDA first loads the library, and never destroyed. A
/// separate thread writes the events several times a second; no file is created before the first event. A forked child
/// starts over with a trace of its own if it records anything.
class Capture {
public:
    /// Returns null if nothing is to be recorded. Never throws.
    [[nodiscard]] static Capture* ofThisProcess() noexcept;

    [[nodiscard]] const CaptureOptions& options() const { return options_; }
    [[nodiscard]] HostRecorder& recorder() { return recorder_; }
    [[nodiscard]] nvtx::Names& names() { return names_; }
    [[nodiscard]] nccl::Communicators& communicators() { return communicators_; }

    /// What the job's framework states of itself, see perfetto::kCaptureStates. Any thread; takes a lock.
    void state(std::string_view name, std::string_view value) noexcept;
    /// Any thread; does not wait for what is being written.
    void event(StatedEvent event) noexcept;
    /// What the job's framework knows of a step that is over, see perfetto::kCaptureStepValues. Likewise.
    void stepValues(std::int64_t step, const StepValues& values) noexcept;
    /// A message to the user, in the trace and in capture.log. Any thread; takes a lock.
    void message(std::string_view text) noexcept;

    /// Called when CUDA has been initialised in this process: starts CUPTI, unless another tool holds it.
    void startCuda() noexcept;
    /// Leaves CUPTI to `tool` for the rest of the process: one may hold it at a time, and a profiler that the job
    /// itself starts goes before. What was recorded until now stays. Any thread.
    void releaseCupti(std::string_view tool) noexcept;

private:
    explicit Capture(CaptureOptions options, std::vector<std::string> problems);

    void makeWriter();
    void wake();
    void addMessage(const std::string& message);
    void loop();
    /// Writes what has been recorded. Returns the time until the next cycle at the latest.
    [[nodiscard]] TimeNs cycle(bool last);
    void flushGpu();
    void stopGpu() noexcept;
    void stop() noexcept;
    void inForkedChild() noexcept;

    CaptureOptions options_;
    std::vector<std::string> problems_;
    nvtx::Names names_;
    nccl::Communicators communicators_;
    HostRecorder recorder_;

    std::mutex cycle_mutex_; ///< guards the members that cycle() uses
    std::unique_ptr<CaptureWriter> writer_;
    std::unique_ptr<cupti::Collector> gpu_;
    std::vector<cupti::OwnedActivity> activities_;
    TimeNs gpu_flushed_{0};
    bool cupti_released_ = false;
    bool failed_ = false;

    std::mutex events_mutex_; ///< guards the next member
    std::vector<StatedEvent> events_;

    std::mutex thread_mutex_; ///< guards the members below
    std::condition_variable wake_;
    std::unique_ptr<std::thread> thread_;
    bool stopping_ = false;
};

} // namespace bubblescope::profiler
