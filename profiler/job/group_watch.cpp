#include "profiler/job/group_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace bubblescope::profiler {
namespace {

constexpr int kTogether = 50; ///< ms within which the signals of one kill() reach all processes of a group

/// Code of the helper process: uses only calls that are allowed after forking a process with threads.
[[noreturn]] void report(int to, pid_t parent) {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (::getppid() == parent) {
        siginfo_t info{};
        const int signal = ::sigwaitinfo(&all, &info);
        if (signal <= 0) continue;
        const auto letter = static_cast<unsigned char>(signal);
        if (::write(to, &letter, 1) != 1 && errno != EAGAIN) break;
    }
    ::_exit(0);
}

} // namespace

GroupWatch::GroupWatch() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
    reports_ = Descriptor(ends[0]);
    const Descriptor to(ends[1]);
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before); // so that our handlers do not run in the helper
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) report(to.get(), parent);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

GroupWatch::~GroupWatch() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

bool GroupWatch::got(int signal) {
    if (pid_ <= 0 || signal <= 0 || signal >= 64) return false;
    const unsigned long long bit = 1ULL << static_cast<unsigned>(signal);
    for (int tries = 0; tries < 2; ++tries) {
        unsigned char letter = 0;
        while (::read(reports_.get(), &letter, 1) == 1)
            seen_ |= letter < 64 ? 1ULL << letter : 0;
        if ((seen_ & bit) != 0) {
            seen_ &= ~bit;
            return true;
        }
        pollfd waited{reports_.get(), POLLIN, 0};
        if (tries == 0) ::poll(&waited, 1, kTogether);
    }
    return false;
}

} // namespace bubblescope::profiler
