#include "core/live/alert.h"

#include "core/base/descriptor.h"
#include "core/net/secret.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace bubblescope::live {
namespace {

constexpr std::size_t kLongestValue = 8192; ///< the system refuses commands whose environment is too large

} // namespace

bool Alert::raise(const Message& message, TimeNs now) {
    tend(now);
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
    return start(message, now);
}

bool Alert::start(const Message& message, TimeNs now) {
    problem_.clear();
    // A file in memory: the command may read it late or never, and no process waits for that.
    const Descriptor input(::memfd_create("bubblescope-alert", MFD_CLOEXEC));
    const auto wanted = static_cast<ssize_t>(message.document.size());
    if (!input.isOpen() || ::write(input.get(), message.document.data(), message.document.size()) != wanted ||
        ::lseek(input.get(), 0, SEEK_SET) != 0) {
        problem_ = std::strerror(errno);
        return false;
    }
    ChildProcess::Command command = ChildProcess::Command::shell(command_);
    command.environment = message.environment;
    for (auto& [name, value] : command.environment)
        value.resize(std::min(value.size(), kLongestValue));
    command.hidden = {net::kTokenVariable};
    command.own_group = true;
    command.input = input.get();
    command.output_to_error = true;
    std::error_code failed;
    const auto child = ChildProcess::start(command, failed);
    if (!child) {
        problem_ = failed.message();
        return false;
    }
    running_.push_back({*child, now});
    return true;
}

void Alert::tend(TimeNs now) {
    std::erase_if(running_, [&](Running& each) {
        if (each.process.hasEnded()) return true;
        if (now - each.since >= limits_.longest) each.process.signalGroup(SIGKILL); // detected in the next call
        return false;
    });
}

void Alert::stop(std::chrono::milliseconds patience) {
    constexpr std::chrono::milliseconds kPause{10};
    const auto end = [](Running& each) {
        each.ended = each.ended || each.process.hasEnded();
        return each.ended && !each.process.signalGroup(0);
    };
    for (const Running& each : running_)
        each.process.signalGroup(SIGTERM);
    for (auto waited = kPause * 0; waited < patience && !running_.empty(); waited += kPause) {
        std::erase_if(running_, end);
        if (!running_.empty()) std::this_thread::sleep_for(kPause);
    }
    for (Running& each : std::exchange(running_, {})) {
        each.process.signalGroup(SIGKILL);
        if (!each.ended) (void)each.process.wait();
    }
}

} // namespace bubblescope::live
