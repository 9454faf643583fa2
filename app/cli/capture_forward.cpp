#include "app/cli/capture_forward.h"

#include "core/base/process_info.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
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
    if (!forward->wake_.isOpen()) return runError("what is recorded cannot be sent on: no event is to be had");
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before); // the thread inherits it
    Status started;
    try {
        forward->thread_ = std::thread(&CaptureForward::loop, forward.get());
    } catch (const std::system_error& e) {
        started = runError(fmt::format("what is recorded cannot be sent on: {}", e.what()));
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    BUBBLESCOPE_TRY(started);
    return forward;
}

CaptureForward::~CaptureForward() {
    [[maybe_unused]] const Status told = finish(TimeNs{0});
}

Status CaptureForward::finish(TimeNs patience) {
    {
        const std::lock_guard lock(mutex_);
        if (!deadline_) deadline_ = {forwardTime() + patience, patience};
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = ::write(wake_.get(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
    return ended_;
}

std::optional<CaptureForward::Deadline> CaptureForward::deadline() {
    const std::lock_guard lock(mutex_);
    return deadline_;
}

void CaptureForward::loop() {
    Status ended = send();
    const std::lock_guard lock(mutex_);
    ended_ = std::move(ended);
}

/// After the deadline: an error if there is no hope for the rest. `stalled`: nothing has arrived for long.
Status CaptureForward::lost(bool stalled) const {
    constexpr const char* kLater = "send the folder later: bubblescope monitor DIR --forward ADDRESS";
    if (sender_.unkeptSince())
        return runError("not all that was recorded is kept by the monitor: " + sender_.problem(), kLater);
    if (sender_.connected() && !stalled) return {};
    const std::string reason = sender_.connected()         ? "it takes nothing any more"
                               : sender_.problem().empty() ? "it did not answer"
                                                           : sender_.problem();
    return runError("not all that was recorded reached the monitor: " + reason, kLater);
}

Status CaptureForward::send() {
    constexpr int kLongestWait = 200; ///< milliseconds
    while (true) {
        const std::optional<Deadline> end = deadline(); // before files are read: when it is set, the job wrote all
        // Folders are read every second: a job that ended sooner may have made its files since.
        constexpr TimeNs kLookAgain{std::chrono::seconds(1)};
        const bool more = follower_.read(sender_, forwardTime() + (end ? kLookAgain : TimeNs{0}));
        BUBBLESCOPE_TRY(sender_.poll(forwardTime()));
        if (end && !more && (follower_.files() == 0 || sender_.done())) return {};
        const TimeNs now = forwardTime();
        if (end && now >= end->at) {
            const bool all = !more && !sender_.wantsToWrite() && sender_.unacknowledged() == 0;
            // What a process writes after the job's end belongs to nobody.
            if (sender_.connected() && all) return {};
            BUBBLESCOPE_TRY(lost(now - sender_.acknowledgedAt() >= end->patience));
        }
        const short wanted = sender_.wantsToWrite() ? POLLIN | POLLOUT : POLLIN;
        std::array<pollfd, 3> waited{{{end ? -1 : wake_.get(), POLLIN, 0},
                                      {sender_.descriptor(), wanted, 0},
                                      {follower_.descriptor(), POLLIN, 0}}};
        if (!more) ::poll(waited.data(), waited.size(), kLongestWait);
    }
}

} // namespace bubblescope::cli
