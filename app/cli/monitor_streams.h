#pragma once

#include "app/cli/command.h"
#include "core/live/segment_follower.h"
#include "core/live/stream_receiver.h"
#include "core/live/stream_sender.h"

#include <filesystem>
#include <optional>
#include <string>

namespace bubblescope::cli {

/// The clock of all parts of a monitor: the monotonic clock of the host.
[[nodiscard]] TimeNs monitorNow();

/// Options of `monitor` for streams that are received or forwarded over the network.
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
    /// Adds only the sender options.
    void addForward(Command command, const std::string& about);
    /// Collector that other hosts send to; none unless requested. `kept` is the folder for streams of jobs that do not
    /// use our library; if empty, they are not stored. Errors: Usage, Input, Run.
    [[nodiscard]] Result<std::optional<live::StreamReceiver>> receiver(const std::filesystem::path& kept = {}) const;
    [[nodiscard]] Result<live::StreamSender::Options> senderOptions() const;
    /// Sends the content of the folders to the collector until the run ends, the user stops the program, or the
    /// collector is unreachable for `patience` (10 × `patience` if the collector was reached before).
    [[nodiscard]] CommandResult sendFolders(live::SegmentFollower follower, TimeNs patience) const;
};

} // namespace bubblescope::cli
