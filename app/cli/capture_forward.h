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

/// Sends what a job writes into a folder to a monitor at another address, while the job runs. A separate thread, which
/// receives no signals, does the sending, so the job and the network never wait for each other.
class CaptureForward {
public:
    /// Error: Run, if files cannot be watched or a thread cannot be started.
    [[nodiscard]] static Result<std::unique_ptr<CaptureForward>> start(live::StreamSender::Options options,
                                                                       const std::filesystem::path& dir);
    CaptureForward(const CaptureForward&) = delete;
    CaptureForward& operator=(const CaptureForward&) = delete;
    ~CaptureForward();

    /// How long finish() may take.
    struct Wait {
        TimeNs patience; ///< while no collector answers, or it accepts nothing
        TimeNs longest;  ///< while a collector accepts data slowly
        int stop = -1;   ///< a descriptor: once it is readable, data not sent yet stays in the folder
    };
    /// To be called when the job is over: sends the rest, and reports on stderr how much is left if that takes long.
    /// Error: Run, if not all data arrived.
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
    TimeNs told_at_{0};            ///< when the user was last informed of what is left
    Descriptor wake_;              ///< readable when the job is over
    std::mutex mutex_;             ///< guards what follows
    std::optional<Ending> ending_; ///< once the job is over
    Status ended_;
    std::thread thread_;
};

} // namespace bubblescope::cli
