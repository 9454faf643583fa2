#include "app/cli/end_in_time.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace bubblescope::cli {
namespace {

/// Blocked in a call when a signal comes.
void blockedAt(int signal) {
    const StopSignals signals;
    const EndInTime in_time(signals);
    ::kill(::getpid(), signal);
    std::this_thread::sleep_for(std::chrono::seconds(30));
    std::_Exit(0);
}

TEST(EndInTime, ExitsWithTheNumberOfTheSignal) {
    constexpr int kSignalled = 128;
    for (const int signal : {SIGINT, SIGTERM})
        EXPECT_EXIT(blockedAt(signal), testing::ExitedWithCode(kSignalled + signal), "abandoned");
}

} // namespace
} // namespace bubblescope::cli
