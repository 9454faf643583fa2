#include "profiler/job/child.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

namespace bubblescope::profiler {
namespace {

constexpr std::array kForwarded{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr int kNotFound = 127;
constexpr int kNotStarted = 126;
constexpr int kSignalled = 128;

std::atomic<pid_t> the_child{0};
static_assert(std::atomic<pid_t>::is_always_lock_free, "a signal handler reads it");

void forward(int signal, siginfo_t* info, void*) {
    const int kept = errno;
    const bool sent_by_somebody = info->si_code <= 0; // the terminal sends to its whole group, the child among it
    const pid_t child = the_child.load();
    if (sent_by_somebody && child > 0) ::kill(child, signal);
    errno = kept;
}

/// Our handlers while it lives.
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

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts)
        list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

std::vector<std::string> environmentWith(std::span<const std::pair<std::string, std::string>> variables) {
    std::vector<std::string> all;
    for (char** at = ::environ; at != nullptr && *at != nullptr; ++at) {
        const std::string_view known(*at);
        bool replaced = false;
        for (const auto& [name, value] : variables)
            replaced = replaced || (known.starts_with(name) && known.substr(name.size()).starts_with('='));
        if (!replaced) all.emplace_back(known);
    }
    for (const auto& [name, value] : variables)
        all.push_back(name + "=" + value);
    return all;
}

} // namespace

int runChild(std::span<const std::string> command, std::span<const std::pair<std::string, std::string>> variables,
             std::string& why_not) {
    std::vector<std::string> words(command.begin(), command.end());
    std::vector<std::string> environment = environmentWith(variables);
    const Forwarding forwarding;
    pid_t child = 0;
    const int failed = ::posix_spawnp(&child, words.front().c_str(), nullptr, nullptr, pointers(words).data(),
                                      pointers(environment).data());
    if (failed != 0) {
        why_not = std::strerror(failed);
        return failed == ENOENT ? kNotFound : kNotStarted;
    }
    the_child = child;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    the_child = 0;
    if (WIFSIGNALED(status)) return kSignalled + WTERMSIG(status);
    return WEXITSTATUS(status);
}

} // namespace bubblescope::profiler
