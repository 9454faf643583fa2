#pragma once

#include "app/cli/command.h"
#include "core/live/segment_follower.h"
#include "core/live/stream_receiver.h"
#include "core/live/stream_sender.h"

#include <filesystem>
#include <optional>
#include <string>

namespace bubblescope::cli {

/// What everything of a monitor goes by: the host's monotonic clock.
[[nodiscard]] TimeNs monitorNow();

/// What `monitor` takes about streams that come or go over the network.
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
    /// Those alone of who sends.
    void addForward(Command command, const std::string& about);
    /// The collector that others send to; nothing unless asked for. Errors: Usage, Input, Run.
    /// `kept`: where streams of jobs that know nothing of us are kept; empty = nowhere.
    [[nodiscard]] Result<std::optional<live::StreamReceiver>> receiver(const std::filesystem::path& kept = {}) const;
    [[nodiscard]] Result<live::StreamSender::Options> senderOptions() const;
    /// Sends what the folders hold to the collector named, until the run has ended or the user stops it.
    [[nodiscard]] CommandResult sendFolders(live::SegmentFollower follower) const;
};

} // namespace bubblescope::cli
