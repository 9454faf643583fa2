#pragma once

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/live/segment_follower.h"
#include "core/live/stream_sender.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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

    /// How long finish() may take.
    struct Wait {
        TimeNs patience; ///< for a collector that is not there, or takes nothing
        TimeNs longest;  ///< for one that takes it slowly
        int stop = -1;   ///< a descriptor: once it is readable, what is left stays where it is
    };
    /// The job is over: sends the rest, and reports on stderr what is left if that takes long. Error: Run, if not all
    /// arrived.
    [[nodiscard]] Status finish(const Wait& wait);

private:
    CaptureForward(live::StreamSender::Options options, live::SegmentFollower follower)
        : sender_(std::move(options)), follower_(std::move(follower)) {}
    void loop();
    [[nodiscard]] Status send();
    struct Ending {
        TimeNs began;
        Wait wait;
    };
    [[nodiscard]] std::optional<Ending> ending();
    [[nodiscard]] std::uint64_t left() const;
    [[nodiscard]] Status lost(const Ending& ending, TimeNs now) const;
    [[nodiscard]] Error incomplete(const std::string& why) const;
    void tellLeft(const Ending& ending, TimeNs now);

    live::StreamSender sender_; ///< the thread's, like the next
    live::SegmentFollower follower_;
    TimeNs told_at_{0};            ///< when people were last told what is left
    Descriptor wake_;              ///< readable when the job is over
    std::mutex mutex_;             ///< guards what follows
    std::optional<Ending> ending_; ///< once the job is over
    Status ended_;
    std::thread thread_;
};

} // namespace bubblescope::cli
