#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace bubblescope {

/// A program started by this process. POSIX only. Use it from one thread at a time.
///
/// The destructor neither terminates the program nor waits for it.
class ChildProcess {
public:
    /// The program to start, with its arguments and environment.
    struct Command {
        std::vector<std::string> words; ///< at least the program name
        std::string program{};          ///< path of the program's file; if empty, `words.front()` is looked up in PATH
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
    /// True if the program has exited. Do not call again after it returned true.
    [[nodiscard]] bool hasEnded();
    /// Sends `signal` to the program and everything it started; signal 0 only tests whether any of them is still
    /// running. Needs `own_group`. False if none of them is running.
    bool signalGroup(int signal) const;

private:
    explicit ChildProcess(pid_t pid) : pid_(pid) {}
    pid_t pid_;
};

} // namespace bubblescope
