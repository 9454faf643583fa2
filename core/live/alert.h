#pragma once

#include "core/base/child_process.h"
#include "core/base/time.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::live {

/// Runs a user's command on events without waiting for it, with a rate limit per identity.
///
/// The command receives the event as a JSON document on standard input. Its environment contains BUBBLESCOPE_EVENT and
/// other variables, but not the token for streams. The command's output goes to standard error. A command that runs
/// too long is terminated together with all processes that it started. Not thread-safe.
class Alert {
public:
    struct Limits {
        TimeNs same_again{std::chrono::minutes(5)}; ///< minimum time between two alerts with the same identity
        int max_alerts = 20;                        ///< maximum number of alerts in that time, over all identities
        int max_running = 8;                        ///< maximum number of concurrent commands
        TimeNs longest{std::chrono::minutes(1)};    ///< maximum duration of a command
    };
    explicit Alert(std::string command, Limits limits) : command_(std::move(command)), limits_(limits) {}

    struct Message {
        std::string identity;                                         ///< equal for alerts about the same problem
        std::vector<std::pair<std::string, std::string>> environment; ///< long values are truncated
        std::string document;
    };
    /// Returns false if the alert was suppressed (and counted), or if the command could not be started.
    bool raise(const Message& message, TimeNs now);

    [[nodiscard]] std::int64_t heldBack() const { return held_back_; }
    /// Error of the most recent start; empty if it succeeded.
    [[nodiscard]] const std::string& problem() const { return problem_; }
    /// Detects commands that have exited, and terminates those that run too long. Does not block.
    void tend(TimeNs now);
    [[nodiscard]] std::size_t running() const { return running_.size(); }
    /// Terminates running commands; kills those that have not exited after `patience`.
    void stop(std::chrono::milliseconds patience);

private:
    struct Running {
        ChildProcess process;
        TimeNs since;
        bool ended = false; ///< true if the command exited; processes that it started may still run
    };
    bool start(const Message& message, TimeNs now);

    std::string command_;
    Limits limits_;
    std::map<std::string, TimeNs, std::less<>> last_;
    std::deque<TimeNs> started_; ///< times of recent starts
    std::vector<Running> running_;
    std::int64_t held_back_ = 0;
    std::string problem_;
};

} // namespace bubblescope::live
