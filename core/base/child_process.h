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
        std::string program{};          ///< its file; empty: `words.front()` is looked up in PATH
        /// Added to this process's environment.
        std::vector<std::pair<std::string, std::string>> environment{};
        int input = -1;               ///< descriptor of its standard input; −1 inherits that of this process
        bool output_to_error = false; ///< its standard output goes to this process's standard error
        /// It leads a process group, which signalGroup() reaches, and blocks no signals.
        bool own_group = false;
        std::vector<std::string> hidden{}; ///< variables of this process's environment that it does not get

        /// Runs `text` in the shell.
        [[nodiscard]] static Command shell(const std::string& text) {
            return {.words = {"sh", "-c", text}, .program = "/bin/sh"};
        }
    };

    /// Starts the program. Nothing if it cannot be started; `failed` has the reason.
    [[nodiscard]] static std::optional<ChildProcess> start(const Command& command, std::error_code& failed);

    [[nodiscard]] pid_t pid() const { return pid_; }

    /// Waits for the program to exit. Returns what a shell would: the exit code, or 128 plus the number of the signal
    /// that terminated it. Call once.
    [[nodiscard]] int wait();
    /// Whether the program has exited. Do not call again after it returned true.
    [[nodiscard]] bool hasEnded();
    /// Sends a signal, or 0 for none, to the program and all that it started, if it was started with `own_group`. False
    /// if none of them is left.
    bool signalGroup(int signal) const;

private:
    explicit ChildProcess(pid_t pid) : pid_(pid) {}
    pid_t pid_;
};

} // namespace bubblescope
