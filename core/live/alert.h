#pragma once

#include "core/base/child_process.h"
#include "core/base/time.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::live {

/// Runs a user's command on events, rate-limited per identity, without waiting for it.
///
/// The command receives the event as a JSON document on standard input, and BUBBLESCOPE_EVENT and other variables in
/// its environment, without the token of streams. Its output goes to standard error. A command that runs too long is
/// terminated with everything it started. Not thread-safe.
class Alert {
public:
    struct Limits {
        TimeNs same_again{std::chrono::minutes(5)}; ///< minimum time between alerts of the same identity
        int max_alerts = 20;                        ///< maximum number of alerts, of all identities, in that time
        int max_running = 8;                        ///< maximum number of concurrent commands
        TimeNs longest{std::chrono::minutes(1)};    ///< maximum time of a command
    };
    explicit Alert(std::string command, Limits limits) : command_(std::move(command)), limits_(limits) {}

    struct Message {
        std::string identity;                                         ///< equal for alerts about the same thing
        std::vector<std::pair<std::string, std::string>> environment; ///< long values are truncated
        std::string document;
    };
    /// False if it was suppressed (and counted), or if the command could not be started.
    bool raise(const Message& message, TimeNs now);

    [[nodiscard]] std::int64_t heldBack() const { return held_back_; }
    /// The error of the last start; empty if it succeeded.
    [[nodiscard]] const std::string& problem() const { return problem_; }
    /// Detects commands that have ended, and terminates those that run too long. Never waits.
    void tend(TimeNs now);
    [[nodiscard]] std::size_t running() const { return running_.size(); }
    /// Terminates running commands: those that ignore the signal are killed after `patience`.
    void stop(std::chrono::milliseconds patience);

private:
    struct Running {
        ChildProcess process;
        TimeNs since;
        bool ended = false; ///< but possibly not everything that it started
    };
    bool start(const Message& message, TimeNs now);

    std::string command_;
    Limits limits_;
    std::map<std::string, TimeNs, std::less<>> last_;
    std::deque<TimeNs> started_; ///< times of the last starts, at most `most`
    std::vector<Running> running_;
    std::int64_t held_back_ = 0;
    std::string problem_;
};

} // namespace bubblescope::live
