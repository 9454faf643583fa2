#include "app/cli/capture_forward.h"

#include "core/base/bytes.h"
#include "core/base/process_info.h"
#include "core/base/time.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <system_error>
#include <utility>

namespace bubblescope::cli {
namespace {

TimeNs forwardTime() {
    return readClocks().monotonic;
}

} // namespace

Result<std::unique_ptr<CaptureForward>> CaptureForward::start(live::StreamSender::Options options,
                                                              const std::filesystem::path& dir) {
    BUBBLESCOPE_ASSIGN(live::SegmentFollower follower, live::SegmentFollower::open({dir}));
    std::unique_ptr<CaptureForward> forward(new CaptureForward(std::move(options), std::move(follower)));
    forward->wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!forward->wake_.isOpen()) return runError("cannot forward the recording: cannot create an eventfd");
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before); // inherited by the thread
    Status started;
    try {
        forward->thread_ = std::thread(&CaptureForward::loop, forward.get());
    } catch (const std::system_error& e) {
        started = runError(fmt::format("cannot forward the recording: {}", e.what()));
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    BUBBLESCOPE_TRY(started);
    return forward;
}

CaptureForward::~CaptureForward() {
    [[maybe_unused]] const Status told = finish({});
}

Status CaptureForward::finish(const Wait& wait) {
    {
        const std::lock_guard lock(mutex_);
        if (!ending_) ending_ = {forwardTime(), wait};
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = ::write(wake_.get(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
    return ended_;
}

std::optional<CaptureForward::Ending> CaptureForward::ending() {
    const std::lock_guard lock(mutex_);
    return ending_;
}

void CaptureForward::loop() {
    Status ended = send();
    const std::lock_guard lock(mutex_);
    ended_ = std::move(ended);
}

/// Number of bytes that the collector has not acknowledged.
std::uint64_t CaptureForward::left() const {
    return sender_.unacknowledged() + follower_.unread();
}

Error CaptureForward::incomplete(const std::string& why) const {
    return runError(fmt::format("{} of the recording did not reach the monitor: {}",
                                formatBytes(static_cast<std::int64_t>(left())), why),
                    "send the folder later: bubblescope monitor DIR --forward ADDRESS");
}

/// Returns an error if the remaining data can no longer be sent, or if sending has taken too long.
Status CaptureForward::lost(const Ending& ending, TimeNs now) const {
    pollfd stop{ending.wait.stop, POLLIN, 0};
    if (stop.fd >= 0 && ::poll(&stop, 1, 0) > 0) return incomplete("a signal interrupted the transfer");
    const TimeNs waited = now - ending.began;
    if (waited < ending.wait.patience) return {};
    if (sender_.unkeptSince()) return incomplete("it cannot store the recording: " + sender_.problem());
    if (!sender_.connected()) return incomplete(sender_.problem().empty() ? "it did not respond" : sender_.problem());
    if (now - sender_.acknowledgedAt() >= ending.wait.patience) return incomplete("it no longer accepts data");
    if (waited < ending.wait.longest) return {};
    return incomplete(fmt::format("it accepts data too slowly to finish within {}", formatTime(ending.wait.longest)));
}

void CaptureForward::tellLeft(const Ending& ending, TimeNs now) {
    constexpr TimeNs kFirst{std::chrono::seconds(1)};
    constexpr TimeNs kEvery{std::chrono::seconds(10)};
    const bool due = told_at_ == TimeNs{0} ? now - ending.began >= kFirst : now - told_at_ >= kEvery;
    if (!due) return;
    fmt::print(stderr, "bubblescope: not yet sent to the monitor: {}{}\n",
               formatBytes(static_cast<std::int64_t>(left())),
               told_at_ == TimeNs{0} ? " (press Ctrl-C to leave it in the folder)" : "");
    told_at_ = now;
}

Status CaptureForward::send() {
    constexpr int kLongestWait = 200; ///< milliseconds
    while (true) {
        const std::optional<Ending> end = ending(); // read before the files: if it is set, the job has written all
        // Folders are read once per second, so a job that ended earlier may have created files since then.
        constexpr TimeNs kLookAgain{std::chrono::seconds(1)};
        const bool more = follower_.read(sender_, forwardTime() + (end ? kLookAgain : TimeNs{0}));
        BUBBLESCOPE_TRY(sender_.poll(forwardTime()));
        if (end && !more && (follower_.files() == 0 || sender_.done())) return {};
        if (end) {
            const TimeNs now = forwardTime();
            const bool all = !more && !sender_.wantsToWrite() && sender_.unacknowledged() == 0;
            // Data that a process writes after the job has ended does not belong to the job.
            if (sender_.connected() && all && now - end->began >= end->wait.patience) return {};
            BUBBLESCOPE_TRY(lost(*end, now));
            tellLeft(*end, now);
        }
        const short wanted = sender_.wantsToWrite() ? POLLIN | POLLOUT : POLLIN;
        std::array<pollfd, 3> waited{{{end ? end->wait.stop : wake_.get(), POLLIN, 0},
                                      {sender_.descriptor(), wanted, 0},
                                      {follower_.descriptor(), POLLIN, 0}}};
        if (!more) ::poll(waited.data(), waited.size(), kLongestWait);
    }
}

} // namespace bubblescope::cli
