#pragma once

#include "app/cli/command.h"
#include "core/live/segment_follower.h"
#include "core/live/stream_receiver.h"
#include "core/live/stream_sender.h"

#include <filesystem>
#include <optional>
#include <string>

namespace bubblescope::cli {

/// The clock that all parts of a monitor use: the host's monotonic clock.
[[nodiscard]] TimeNs monitorNow();

/// The options of `monitor` for streams received or forwarded over the network.
struct StreamOptions {
    std::string listen;
    std::string forward;
    std::string token_file;
    std::string certificate;
    std::string key;
    std::string trust;
    std::string keep;
    std::optional<std::int64_t> keep_size;
    bool insecure = false;

    void add(Command command);
    /// Adds only the options for a sender.
    void addForward(Command command, const std::string& about);
    /// The collector that other hosts send to; none unless requested. Errors: Usage, Input, Run. `kept` is the folder
    /// for streams of jobs that run without our library; empty = they are not kept.
    [[nodiscard]] Result<std::optional<live::StreamReceiver>> receiver(const std::filesystem::path& kept = {}) const;
    [[nodiscard]] Result<live::StreamSender::Options> senderOptions() const;
    /// Sends the content of the folders to the given collector until the run has ended, the user stops it, or no
    /// collector has accepted the connection for `patience` (ten times as long if one did before).
    [[nodiscard]] CommandResult sendFolders(live::SegmentFollower follower, TimeNs patience) const;
};

} // namespace bubblescope::cli
