#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace bubblescope {

/// A program started by this process. POSIX only. May be used by only one thread at a time.
///
/// The destructor neither terminates the program nor waits for it.
class ChildProcess {
public:
    /// The program to start, with its arguments and environment.
    struct Command {
        std::vector<std::string> words; ///< the program name followed by its arguments
        std::string program{};          ///< path of the executable; if empty, `words.front()` is looked up in PATH
        /// Variables that are added to the inherited environment.
        std::vector<std::pair<std::string, std::string>> environment{};
        int input = -1;               ///< descriptor to use as standard input; −1 inherits that of this process
        bool output_to_error = false; ///< sends its standard output to this process's standard error
        /// Starts the program as the leader of a new process group, for signalGroup(), with no signals blocked.
        bool own_group = false;
        std::vector<std::string> hidden{}; ///< environment variables that are removed from the inherited environment

        /// A command that runs `text` in the shell.
        [[nodiscard]] static Command shell(const std::string& text) {
            return {.words = {"sh", "-c", text}, .program = "/bin/sh"};
        }
    };

    /// Starts the program. On failure, returns an empty optional and sets `failed` to the reason.
    [[nodiscard]] static std::optional<ChildProcess> start(const Command& command, std::error_code& failed);

    [[nodiscard]] pid_t pid() const { return pid_; }

    /// Waits for the program to exit. Returns the exit code, or 128 plus the signal number if a signal terminated the
    /// program, as a shell would. May be called only once.
    [[nodiscard]] int wait();
    /// As wait(), but the program remains a zombie: its process id is not reused, and other threads can read its
    /// status.
    [[nodiscard]] int waitWithoutReaping() const;
    /// True if the program has exited. Must not be called again after it has returned true.
    [[nodiscard]] bool hasEnded();
    /// Sends `signal` to the program and to all processes that it started; signal 0 only tests whether any of them is
    /// running. Requires `own_group`. Returns false if none of the processes is running.
    bool signalGroup(int signal) const;

private:
    explicit ChildProcess(pid_t pid) : pid_(pid) {}
    pid_t pid_;
};

} // namespace bubblescope
