#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace bubblescope {

/// A program that this process started. POSIX only. One thread at a time.
///
/// The destructor neither ends the program nor waits for it.
class ChildProcess {
public:
    /// What to start, and with what.
    struct Command {
        std::vector<std::string> words; ///< at least the program's name
        std::string program{};          ///< its file; empty: the name is looked up in PATH
        /// Added to this process's environment.
        std::vector<std::pair<std::string, std::string>> environment{};
        int input = -1;               ///< descriptor of its standard input; −1 for this process's
        bool output_to_error = false; ///< its standard output goes to this process's standard error

        /// For the shell.
        [[nodiscard]] static Command shell(const std::string& text) {
            return {.words = {"sh", "-c", text}, .program = "/bin/sh"};
        }
    };

    /// Nothing, with the reason in `failed`, where it cannot be started.
    [[nodiscard]] static std::optional<ChildProcess> start(const Command& command, std::error_code& failed);

    [[nodiscard]] pid_t pid() const { return pid_; }

    /// Waits for its end, and returns what a shell would: its exit code, or 128 and the number of the signal that ended
    /// it. Once.
    [[nodiscard]] int wait();
    /// Whether it has ended. Once it has, it is not to be asked again.
    [[nodiscard]] bool hasEnded();

private:
    explicit ChildProcess(pid_t pid) : pid_(pid) {}
    pid_t pid_;
};

} // namespace bubblescope
