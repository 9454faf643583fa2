#include "core/live/alert.h"

#include "core/base/descriptor.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

// NOLINTNEXTLINE: POSIX's own name
extern char** environ;

namespace bubblescope::live {

bool Alert::raise(const Message& message, TimeNs now) {
    reap(false);
    constexpr std::size_t kMaxRemembered = 1024;
    if (last_.size() > kMaxRemembered)
        std::erase_if(last_, [&](const auto& entry) { return now - entry.second >= limits_.same_again; });
    const auto same = last_.find(message.identity);
    while (!started_.empty() && now - started_.front() >= limits_.same_again)
        started_.pop_front();
    const bool too_soon = std::ssize(started_) >= limits_.most ||
                          (same != last_.end() && now - same->second < limits_.same_again) ||
                          static_cast<int>(running_.size()) >= limits_.running;
    if (too_soon) {
        ++held_back_;
        return false;
    }
    last_[message.identity] = now;
    started_.push_back(now);
    return start(message);
}

bool Alert::start(const Message& message) {
    problem_.clear();
    // A file in memory: the command may read it late or not at all, and nobody waits.
    const Descriptor input(::memfd_create("bubblescope-alert", MFD_CLOEXEC));
    const auto wanted = static_cast<ssize_t>(message.document.size());
    if (!input.isOpen() || ::write(input.get(), message.document.data(), message.document.size()) != wanted ||
        ::lseek(input.get(), 0, SEEK_SET) != 0) {
        problem_ = std::strerror(errno);
        return false;
    }
    std::vector<std::string> texts;
    for (char** entry = environ; *entry != nullptr; ++entry)
        texts.emplace_back(*entry);
    for (const auto& [name, value] : message.environment)
        texts.push_back(name + "=" + value);
    std::vector<char*> environment;
    for (std::string& text : texts)
        environment.push_back(text.data());
    environment.push_back(nullptr);
    std::string shell = "sh";
    std::string flag = "-c";
    std::string command = command_;
    const std::vector<char*> words{shell.data(), flag.data(), command.data(), nullptr};

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    pid_t child = 0;
    const int failed = ::posix_spawn(&child, "/bin/sh", &actions, nullptr, words.data(), environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        problem_ = std::strerror(failed);
        return false;
    }
    running_.push_back(child);
    return true;
}

void Alert::reap(bool wait) {
    std::erase_if(running_, [wait](pid_t child) { return ::waitpid(child, nullptr, wait ? 0 : WNOHANG) != 0; });
}

void Alert::finish() {
    reap(true);
}

} // namespace bubblescope::live
