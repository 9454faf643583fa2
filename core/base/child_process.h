#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace bubblescope {

/// A program started by this process. POSIX only. One thread at a time.
///
/// The destructor neither terminates the program nor waits for it.
class ChildProcess {
public:
    /// What to start, and how.
    struct Command {
        std::vector<std::string> words; ///< at least the program name
        std::string program{};          ///< path of its file; if empty, `words.front()` is searched in PATH
        /// Added to the environment that the program inherits.
        std::vector<std::pair<std::string, std::string>> environment{};
        int input = -1;               ///< descriptor for its standard input; −1 inherits this process's
        bool output_to_error = false; ///< sends its standard output to this process's standard error
        /// Start it as the leader of a new process group, which signalGroup() reaches, with no signals blocked.
        bool own_group = false;
        std::vector<std::string> hidden{}; ///< environment variables that the program does not inherit

        /// Runs `text` in the shell.
        [[nodiscard]] static Command shell(const std::string& text) {
            return {.words = {"sh", "-c", text}, .program = "/bin/sh"};
        }
    };

    /// Starts the program. On failure returns nothing and sets `failed` to the reason.
    [[nodiscard]] static std::optional<ChildProcess> start(const Command& command, std::error_code& failed);

    [[nodiscard]] pid_t pid() const { return pid_; }

    /// Waits for the program to exit. Returns what a shell would: the exit code, or 128 plus the number of the signal
    /// that terminated it. Call once.
    [[nodiscard]] int wait();
    /// Whether the program has exited. Do not call again after it returned true.
    [[nodiscard]] bool hasEnded();
    /// Sends `signal` to the program and everything it started; 0 only tests whether any of it is still running. Needs
    /// `own_group`. False if nothing is left.
    bool signalGroup(int signal) const;

private:
    explicit ChildProcess(pid_t pid) : pid_(pid) {}
    pid_t pid_;
};

} // namespace bubblescope
