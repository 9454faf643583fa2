#include "core/live/alert.h"

#include "core/base/descriptor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace bubblescope::live {

bool Alert::raise(const Message& message, TimeNs now) {
    reap();
    constexpr std::size_t kMaxRemembered = 1024;
    if (last_.size() > kMaxRemembered)
        std::erase_if(last_, [&](const auto& entry) { return now - entry.second >= limits_.same_again; });
    const auto same = last_.find(message.identity);
    while (!started_.empty() && now - started_.front() >= limits_.same_again)
        started_.pop_front();
    const bool too_soon = std::ssize(started_) >= limits_.max_alerts ||
                          (same != last_.end() && now - same->second < limits_.same_again) ||
                          static_cast<int>(running_.size()) >= limits_.max_running;
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
    // A file in memory: the command may read it late or not at all, and nothing waits for it.
    const Descriptor input(::memfd_create("bubblescope-alert", MFD_CLOEXEC));
    const auto wanted = static_cast<ssize_t>(message.document.size());
    if (!input.isOpen() || ::write(input.get(), message.document.data(), message.document.size()) != wanted ||
        ::lseek(input.get(), 0, SEEK_SET) != 0) {
        problem_ = std::strerror(errno);
        return false;
    }
    ChildProcess::Command command = ChildProcess::Command::shell(command_);
    command.environment = message.environment;
    command.input = input.get();
    command.output_to_error = true;
    std::error_code failed;
    const auto child = ChildProcess::start(command, failed);
    if (!child) {
        problem_ = failed.message();
        return false;
    }
    running_.push_back(*child);
    return true;
}

void Alert::reap() {
    std::erase_if(running_, [](ChildProcess& child) { return child.hasEnded(); });
}

void Alert::finish() {
    for (ChildProcess& child : std::exchange(running_, {}))
        [[maybe_unused]] const int ignored = child.wait();
}

} // namespace bubblescope::live
