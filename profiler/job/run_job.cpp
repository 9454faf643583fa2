#include "profiler/job/run_job.h"

#include "core/base/child_process.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <system_error>

namespace bubblescope::profiler {
namespace {

constexpr std::array kForwarded{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr int kNotFound = 127;
constexpr int kNotStarted = 126;

std::atomic<pid_t> the_child{0};
static_assert(std::atomic<pid_t>::is_always_lock_free, "a signal handler reads it");

void forward(int signal, siginfo_t* info, void*) {
    const int kept = errno;
    const bool sent_by_somebody = info->si_code <= 0; // the terminal signals the whole group, the child too
    const pid_t child = the_child.load();
    if (sent_by_somebody && child > 0) ::kill(child, signal);
    errno = kept;
}

/// Installs the signal handlers for its lifetime.
class Forwarding {
public:
    Forwarding() {
        struct sigaction action {};
        action.sa_sigaction = forward;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        ::sigemptyset(&action.sa_mask);
        for (std::size_t i = 0; i < kForwarded.size(); ++i)
            ::sigaction(kForwarded[i], &action, &before_[i]);
    }
    Forwarding(const Forwarding&) = delete;
    Forwarding& operator=(const Forwarding&) = delete;
    ~Forwarding() {
        for (std::size_t i = 0; i < kForwarded.size(); ++i)
            ::sigaction(kForwarded[i], &before_[i], nullptr);
    }

private:
    std::array<struct sigaction, kForwarded.size()> before_{};
};

} // namespace

int runJob(std::span<const std::string> command, std::span<const std::pair<std::string, std::string>> variables,
           std::string& why_not) {
    const Forwarding forwarding;
    std::error_code failed;
    auto child = ChildProcess::start(
        {.words = {command.begin(), command.end()}, .environment = {variables.begin(), variables.end()}}, failed);
    if (!child) {
        why_not = failed.message();
        return failed == std::errc::no_such_file_or_directory ? kNotFound : kNotStarted;
    }
    the_child = child->pid();
    const int exit_code = child->wait();
    the_child = 0;
    return exit_code;
}

} // namespace bubblescope::profiler
