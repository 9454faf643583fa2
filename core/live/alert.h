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

/// Runs a user's command when something happens, at most once in a while for the same thing, and never waits for it.
///
/// The command gets what happened as a JSON document on its standard input, and in its environment BUBBLESCOPE_EVENT
/// and what else is given. What it prints goes to standard error. One thread at a time.
class Alert {
public:
    struct Limits {
        TimeNs same_again{std::chrono::minutes(5)}; ///< an alert of the same identity is not repeated before
        int most = 20;                              ///< in as long a time, of all identities
        int running = 8;                            ///< commands at a time
    };
    explicit Alert(std::string command, Limits limits) : command_(std::move(command)), limits_(limits) {}

    struct Message {
        std::string identity; ///< equal for what is the same thing
        std::vector<std::pair<std::string, std::string>> environment;
        std::string document;
    };
    /// False where it was held back, which is counted, or the command could not be started.
    bool raise(const Message& message, TimeNs now);

    [[nodiscard]] std::int64_t heldBack() const { return held_back_; }
    [[nodiscard]] const std::string& problem() const { return problem_; } ///< of the last start; empty if none
    /// Waits for commands that still run; for tests, and before the program ends.
    void finish();

private:
    void reap();
    bool start(const Message& message);

    std::string command_;
    Limits limits_;
    std::map<std::string, TimeNs, std::less<>> last_;
    std::deque<TimeNs> started_; ///< the last `most` at most
    std::vector<ChildProcess> running_;
    std::int64_t held_back_ = 0;
    std::string problem_;
};

} // namespace bubblescope::live
