#pragma once

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/live/segment_follower.h"
#include "core/live/stream_sender.h"

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace bubblescope::cli {

/// Sends what a job writes into a folder to the monitor that listens somewhere, beside the job: it and the network wait
/// for nothing of each other. A thread of its own does, which takes no signals.
class CaptureForward {
public:
    /// Error: Run, where files cannot be watched or no thread is to be had.
    [[nodiscard]] static Result<std::unique_ptr<CaptureForward>> start(live::StreamSender::Options options,
                                                                       const std::filesystem::path& dir);
    CaptureForward(const CaptureForward&) = delete;
    CaptureForward& operator=(const CaptureForward&) = delete;
    ~CaptureForward();

    /// The job is over: sends the rest. A collector that is not there, or takes nothing, is waited for as long as
    /// `patience`. Error: Run, if not all arrived.
    [[nodiscard]] Status finish(TimeNs patience);

private:
    CaptureForward(live::StreamSender::Options options, live::SegmentFollower follower)
        : sender_(std::move(options)), follower_(std::move(follower)) {}
    void loop();
    [[nodiscard]] Status send();
    [[nodiscard]] Status lost(bool stalled) const;
    struct Deadline {
        TimeNs at;
        TimeNs patience;
    };
    [[nodiscard]] std::optional<Deadline> deadline();

    live::StreamSender sender_; ///< the thread's, like the next
    live::SegmentFollower follower_;
    Descriptor wake_;                  ///< readable when the job is over
    std::mutex mutex_;                 ///< guards what follows
    std::optional<Deadline> deadline_; ///< once the job is over
    Status ended_;
    std::thread thread_;
};

} // namespace bubblescope::cli
