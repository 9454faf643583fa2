#include "app/cli/end_in_time.h"

#include <sys/eventfd.h>

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace bubblescope::cli {

EndInTime::EndInTime(const StopSignals& signals) : over_(::eventfd(0, EFD_CLOEXEC)) {
    try {
        watcher_ = std::thread([this, &signals] { watch(signals); });
    } catch (const std::system_error&) { // NOLINT(bugprone-empty-catch)
        // The program still ends, but only after the blocking call.
    }
}

EndInTime::~EndInTime() {
    ::eventfd_write(over_.get(), 1);
    if (watcher_.joinable()) watcher_.join();
}

void EndInTime::watch(const StopSignals& signals) const {
    // The signal stays readable until the program handles it; this wait then ends.
    std::array<pollfd, 2> waited{{{over_.get(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}}};
    while (::poll(waited.data(), waited.size(), -1) < 0 && errno == EINTR) {
    }
    if (waited[0].revents != 0) return;
    constexpr int kSecond = 900; // ms
    while (::poll(waited.data(), 1, kSecond) < 0 && errno == EINTR) {
    }
    if (waited[0].revents != 0) return;
    constexpr std::string_view kWords = "bubblescope: waited too long for unfinished work and abandoned it\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kWords.data(), kWords.size());
    constexpr int kSignalled = 128;
    std::_Exit(kSignalled + signals.signal());
}

} // namespace bubblescope::cli
