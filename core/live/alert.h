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

/// Runs a user's command on events, at most once in a while for the same identity, without waiting for it.
///
/// The command gets the event as a JSON document on its standard input, and BUBBLESCOPE_EVENT and other variables in
/// its environment, which lacks the token of streams. Its output goes to standard error. A command that runs too long
/// is terminated with all that it started. One thread at a time.
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
        std::vector<std::pair<std::string, std::string>> environment; ///< long values are cut
        std::string document;
    };
    /// False if it was suppressed, which is counted, or the command could not be started.
    bool raise(const Message& message, TimeNs now);

    [[nodiscard]] std::int64_t heldBack() const { return held_back_; }
    [[nodiscard]] const std::string& problem() const { return problem_; } ///< of the last start; empty if it succeeded
    /// Notices commands that have ended, and terminates those that run too long. Never waits.
    void tend(TimeNs now);
    [[nodiscard]] std::size_t running() const { return running_.size(); }
    /// Terminates running commands: those that ignore it are killed after `patience`.
    void stop(std::chrono::milliseconds patience);

private:
    struct Running {
        ChildProcess process;
        TimeNs since;
        bool ended = false; ///< but perhaps not what it started
    };
    bool start(const Message& message, TimeNs now);

    std::string command_;
    Limits limits_;
    std::map<std::string, TimeNs, std::less<>> last_;
    std::deque<TimeNs> started_; ///< the last `most` at most
    std::vector<Running> running_;
    std::int64_t held_back_ = 0;
    std::string problem_;
};

} // namespace bubblescope::live
