#pragma once

#include "tests/support/sanitized.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace bubblescope::test {

/// Result of work in a separate process.
struct ChildResult {
    std::string said;
    int exit_code = -1; ///< −1 if it was killed
    int signal = 0;
    std::size_t peak_bytes = 0; ///< includes the memory that the test had used before
};

/// Calls `work`, which returns a text, in a child process, so that it can neither crash the test nor exhaust the
/// machine's memory. The calling process must not have other threads.
template <class Work>
ChildResult inChild(const Work& work) {
    constexpr rlim_t kMost = rlim_t{8} << 30;
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe can be made");
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no process can be made");
    if (child == 0) {
        ::close(ends[0]);
        const rlimit limit{kMost, kMost};
        if (!kSanitized) ::setrlimit(RLIMIT_AS, &limit);
        const std::string said = work();
        const bool whole = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
        ::_exit(whole ? 0 : 1);
    }
    ::close(ends[1]);
    ChildResult result;
    char piece[4096];
    for (ssize_t count = 0; (count = ::read(ends[0], piece, sizeof piece)) > 0;)
        result.said.append(piece, static_cast<std::size_t>(count));
    ::close(ends[0]);
    int status = 0;
    rusage used{};
    ::wait4(child, &status, 0, &used);
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    constexpr std::size_t kKilobyte = 1024; // unit of the value on Linux
    result.peak_bytes = static_cast<std::size_t>(used.ru_maxrss) * kKilobyte;
    return result;
}

} // namespace bubblescope::test
