#include "app/cli/load_watch.h"

#include "core/base/progress_estimate.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace bubblescope::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kMoment = 700ms;
constexpr auto kInterval = 100ms;

bool stderrIsTerminal() {
#ifdef _WIN32
    return _isatty(_fileno(stderr)) != 0;
#else
    return isatty(STDERR_FILENO) != 0;
#endif
}

} // namespace

LoadWatch::LoadWatch(const JobControl& control) {
    if (!stderrIsTerminal()) return;
    thread_ = std::jthread([this, &control](const std::stop_token& stop) {
        using Clock = std::chrono::steady_clock;
        const auto begin = Clock::now();
        ProgressEstimate estimate;
        bool shown = false;
        std::unique_lock lock(mutex_);
        while (!ended_.wait_for(lock, stop, kInterval, [] { return false; }) && !stop.stop_requested()) {
            const auto passed = Clock::now() - begin;
            estimate.observe(passed, control.done, control.total);
            if (passed < kMoment) continue;
            // To the line's begin, and clear what an earlier text leaves behind.
            fmt::print(stderr, "\rLoading: {}\x1b[K", estimate.text());
            std::fflush(stderr);
            shown = true;
        }
        if (shown) fmt::print(stderr, "\r\x1b[K");
    });
}

} // namespace bubblescope::cli
