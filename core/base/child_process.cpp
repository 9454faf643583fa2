#include "core/base/child_process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

// NOLINTNEXTLINE: POSIX's own name
extern char** environ;

namespace bubblescope {
namespace {

std::vector<std::string> environmentOf(const ChildProcess::Command& command) {
    const auto names = [](std::string_view known, std::string_view name) {
        return known.starts_with(name) && known.substr(name.size()).starts_with('=');
    };
    std::vector<std::string> all;
    for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
        const std::string_view known(*at);
        const bool replaced = std::ranges::any_of(command.environment,
                                                  [&](const auto& variable) { return names(known, variable.first); });
        const bool hidden =
            std::ranges::any_of(command.hidden, [&](const std::string& name) { return names(known, name); });
        if (!replaced && !hidden) all.emplace_back(known);
    }
    for (const auto& [name, value] : command.environment)
        all.push_back(name + "=" + value);
    return all;
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts)
        list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

/// Waits until the process ends; `options` as of waitid().
int exitCodeOf(pid_t pid, int options) {
    constexpr int kSignalled = 128;
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | options) < 0 && errno == EINTR) {
    }
    const bool signalled = info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
    return signalled ? kSignalled + info.si_status : info.si_status;
}

} // namespace

std::optional<ChildProcess> ChildProcess::start(const Command& command, std::error_code& failed) {
    std::vector<std::string> words = command.words;
    std::vector<std::string> environment = environmentOf(command);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    if (command.input >= 0) ::posix_spawn_file_actions_adddup2(&actions, command.input, STDIN_FILENO);
    if (command.output_to_error) ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    if (command.own_group) {
        sigset_t none;
        ::sigemptyset(&none);
        ::posix_spawnattr_setsigmask(&attributes, &none);
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    }
    pid_t pid = 0;
    // posix_spawnp() does not search PATH for names that contain a slash.
    const std::string& file = command.program.empty() ? command.words.front() : command.program;
    const int code = ::posix_spawnp(&pid, file.c_str(), &actions, &attributes, pointersTo(words).data(),
                                    pointersTo(environment).data());
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    failed = std::error_code(code, std::generic_category());
    return code == 0 ? std::optional(ChildProcess(pid)) : std::nullopt;
}

int ChildProcess::wait() {
    return exitCodeOf(pid_, 0);
}

int ChildProcess::waitWithoutReaping() const {
    return exitCodeOf(pid_, WNOWAIT);
}

bool ChildProcess::hasEnded() {
    return ::waitpid(pid_, nullptr, WNOHANG) != 0;
}

bool ChildProcess::signalGroup(int signal) const {
    return ::kill(-pid_, signal) == 0 || errno != ESRCH;
}

} // namespace bubblescope
