#include "app/cli/stop_signals.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <poll.h>

#include <array>
#include <cstdio>
#include <system_error>

namespace bubblescope::cli {

namespace {

/// Restores the default effect of the signals, in the calling thread and in threads that it starts.
void unblockSignals() {
    sigset_t deadly;
    ::sigemptyset(&deadly);
    ::sigaddset(&deadly, SIGINT);
    ::sigaddset(&deadly, SIGTERM);
    ::pthread_sigmask(SIG_UNBLOCK, &deadly, nullptr);
}

} // namespace

EndOnSignal::EndOnSignal() : over_(::eventfd(0, EFD_CLOEXEC)) {
    try {
        watcher_ = std::thread([this] { watch(); });
    } catch (const std::system_error&) {
        unblockSignals(); // a signal then ends the run immediately
    }
}

EndOnSignal::~EndOnSignal() {
    ::eventfd_write(over_.get(), 1);
    if (watcher_.joinable()) watcher_.join();
}

void EndOnSignal::watch() {
    std::array<pollfd, 2> waited{{{signals_.descriptor(), POLLIN, 0}, {over_.get(), POLLIN, 0}}};
    while (!signals_.came()) {
        ::poll(waited.data(), waited.size(), -1);
        if (waited[1].revents != 0) return;
    }
    ask_.request_stop();
    fmt::print(stderr, "bubblescope: the run ends with this step; press again to stop at once\n");
    unblockSignals();
    while (::poll(&waited[1], 1, -1) < 0) {
    }
}

} // namespace bubblescope::cli
