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

/// Sends a running job's data to a monitor at another address while the job writes it into a folder. A separate thread,
/// which receives no signals, does the sending, so the job and the network never wait for each other.
class CaptureForward {
public:
    /// Error: Run, if files cannot be watched or a thread cannot be started.
    [[nodiscard]] static Result<std::unique_ptr<CaptureForward>> start(live::StreamSender::Options options,
                                                                       const std::filesystem::path& dir);
    CaptureForward(const CaptureForward&) = delete;
    CaptureForward& operator=(const CaptureForward&) = delete;
    ~CaptureForward();

    /// Time limits of finish().
    struct Wait {
        TimeNs patience; ///< longest wait while no collector replies or accepts data
        TimeNs longest;  ///< longest wait for a collector that accepts data slowly
        int stop = -1;   ///< descriptor that becomes readable to end the wait; unsent data then stays in the folder
    };
    /// Must be called when the job has ended. Sends the remaining data, and prints the remaining amount to stderr if
    /// this takes a long time. Error: Run, if some data did not arrive.
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

    live::StreamSender sender_; ///< used only by the thread, like the next member
    live::SegmentFollower follower_;
    TimeNs told_at_{0};            ///< time of the last progress message to the user
    Descriptor wake_;              ///< readable when the job has ended
    std::mutex mutex_;             ///< guards the members below
    std::optional<Ending> ending_; ///< set once the job has ended
    Status ended_;
    std::thread thread_;
};

} // namespace bubblescope::cli
