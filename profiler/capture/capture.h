#pragma once

#include "profiler/capture/capture_options.h"
#include "profiler/capture/capture_writer.h"
#include "profiler/cupti/collector.h"
#include "profiler/events/host_recorder.h"
#include "profiler/nccl/comm_event.h"
#include "profiler/nvtx/names.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace bubblescope::profiler {

/// The recording of this process: made when the first of NVTX, NCCL and CUDA loads the library, and never taken apart.
/// A separate thread writes the events several times a second; no file is created before the first event. A fork starts
/// again, with a separate trace, if it records anything.
class Capture {
public:
    /// Null where nothing is to be recorded. Never throws.
    [[nodiscard]] static Capture* ofThisProcess() noexcept;

    [[nodiscard]] const CaptureOptions& options() const { return options_; }
    [[nodiscard]] HostRecorder& recorder() { return recorder_; }
    [[nodiscard]] nvtx::Names& names() { return names_; }
    [[nodiscard]] nccl::Communicators& communicators() { return communicators_; }

    /// CUDA has been initialised in this process: has CUPTI record, unless another tool does.
    void startCuda() noexcept;

private:
    explicit Capture(CaptureOptions options, std::vector<std::string> problems);

    void makeWriter();
    void wake();
    void say(const std::string& message);
    void loop();
    /// Writes what there is. Returns how long it may take until the next time.
    [[nodiscard]] TimeNs cycle(bool last);
    void flushGpu();
    void stop() noexcept;
    void inForkedChild() noexcept;

    CaptureOptions options_;
    std::vector<std::string> problems_;
    nvtx::Names names_;
    nccl::Communicators communicators_;
    HostRecorder recorder_;

    std::mutex cycle_mutex_; ///< guards what cycle() uses
    std::unique_ptr<CaptureWriter> writer_;
    std::unique_ptr<cupti::Collector> gpu_;
    std::vector<cupti::OwnedActivity> activities_;
    TimeNs gpu_flushed_{0};
    bool failed_ = false;

    std::mutex thread_mutex_; ///< guards what follows
    std::condition_variable wake_;
    std::unique_ptr<std::thread> thread_;
    bool stopping_ = false;
};

} // namespace bubblescope::profiler
