#include "runtime/clock/device_clock.h"

#include "tests/unit/runtime/fake_clock.h"

#include <gtest/gtest.h>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;
using test::FakeClock;

constexpr TimeNs kTolerance = 2ms;

class DeviceClockTest : public ::testing::Test {
protected:
    DeviceClock pacedFrom(FakeClock& host) {
        DeviceClock clock(host, kTolerance, aborted_);
        clock.alignTo(host.now());
        return clock;
    }

    std::atomic<bool> aborted_{false};
};

TEST_F(DeviceClockTest, HoldsAnOpForItsNominalTime) {
    FakeClock host;
    DeviceClock clock = pacedFrom(host);
    const TimeNs origin = host.now();
    const TimeNs begin = clock.begin(origin, 5ms);
    EXPECT_EQ(begin, origin);
    host.advance(1ms); // the maths
    const DeviceClock::End end = clock.end(begin, 5ms);
    EXPECT_EQ(end.time, origin + 5ms) << "known before it has passed";
    EXPECT_EQ(host.now(), origin + 1ms);
    EXPECT_FALSE(end.moved);
    EXPECT_EQ(clock.hold(begin, 5ms), 0ms);
    EXPECT_EQ(host.now(), origin + 5ms);
    EXPECT_EQ(clock.freeAt(), origin + 5ms);
}

TEST_F(DeviceClockTest, BeginsWhenInputAndDeviceAreReady) {
    FakeClock host;
    DeviceClock clock = pacedFrom(host);
    const TimeNs free = clock.freeAt();
    EXPECT_EQ(clock.begin(free - 1ms, 5ms), free);
    EXPECT_EQ(clock.begin(free + 3ms, 5ms), free + 3ms);
}

TEST_F(DeviceClockTest, DoesNotLetLatenessAddUp) {
    FakeClock host(1ms); // every sleep ends 1 ms late
    DeviceClock clock = pacedFrom(host);
    const TimeNs origin = host.now();
    for (int i = 1; i <= 20; ++i) {
        host.advance(600us); // the thread was woken late
        const TimeNs begin = clock.begin(clock.freeAt(), 5ms);
        const DeviceClock::End end = clock.end(begin, 5ms);
        EXPECT_EQ(end.time, origin + i * 5ms);
        EXPECT_FALSE(end.moved);
        EXPECT_EQ(clock.hold(begin, 5ms), 1ms) << "recorded, not hidden";
    }
}

TEST_F(DeviceClockTest, MovesTheEndWhenTheMathsTookTooLong) {
    FakeClock host;
    DeviceClock clock = pacedFrom(host);
    const TimeNs begin = clock.freeAt();
    host.advance(8ms);
    const DeviceClock::End end = clock.end(begin, 5ms);
    EXPECT_EQ(end.time, begin + 8ms);
    EXPECT_TRUE(end.moved);
    EXPECT_EQ(clock.freeAt(), begin + 8ms);
    EXPECT_EQ(clock.hold(begin, 5ms), 3ms);
    EXPECT_EQ(host.sleeps(), 0);
}

TEST_F(DeviceClockTest, KeepsTheNominalEndUpToAndIncludingTheTolerance) {
    FakeClock host;
    DeviceClock clock = pacedFrom(host);
    const TimeNs begin = clock.freeAt();
    host.advance(5ms + kTolerance);
    const DeviceClock::End within = clock.end(begin, 5ms);
    EXPECT_EQ(within.time, begin + 5ms);
    EXPECT_FALSE(within.moved);
    EXPECT_EQ(clock.hold(begin, 5ms), kTolerance);

    host.reach(within.time + 5ms + kTolerance + 1ns);
    EXPECT_TRUE(clock.end(within.time, 5ms).moved);
}

TEST_F(DeviceClockTest, ASleepThatEndsTooLateShowsInTheNextOp) {
    FakeClock host(9ms);
    DeviceClock clock = pacedFrom(host);
    const TimeNs begin = clock.freeAt();
    const DeviceClock::End first = clock.end(begin, 5ms);
    EXPECT_EQ(clock.hold(begin, 5ms), 9ms);
    EXPECT_EQ(first.time, begin + 5ms) << "its result was there in time";
    const DeviceClock::End second = clock.end(clock.begin(first.time, 5ms), 5ms);
    EXPECT_TRUE(second.moved);
    EXPECT_EQ(second.time, begin + 14ms) << "the emulated clock has caught up with the host";
}

TEST_F(DeviceClockTest, TakesTheHostsTimeForOpsWithoutANominalTime) {
    FakeClock host;
    DeviceClock clock = pacedFrom(host);
    host.advance(1ms);
    const TimeNs begin = clock.begin(clock.freeAt(), 0ms);
    EXPECT_EQ(begin, host.now()) << "not before the host came to it";
    host.advance(300us);
    const DeviceClock::End end = clock.end(begin, 0ms);
    EXPECT_EQ(end.time, begin + 300us);
    EXPECT_FALSE(end.moved);
    EXPECT_EQ(clock.hold(begin, 0ms), 0ms);
    EXPECT_EQ(host.sleeps(), 0);
}

TEST_F(DeviceClockTest, TakesTheHostsTimeWhenNotPaced) {
    FakeClock host;
    DeviceClock clock(host, std::nullopt, aborted_);
    clock.alignTo(host.now());
    host.advance(2ms);
    const TimeNs begin = clock.begin(clock.freeAt(), 5ms);
    EXPECT_EQ(begin, host.now());
    host.advance(1ms);
    EXPECT_EQ(clock.end(begin, 5ms).time, begin + 1ms);
    EXPECT_EQ(clock.hold(begin, 5ms), 0ms);
    EXPECT_EQ(host.sleeps(), 0);
}

TEST_F(DeviceClockTest, DoesNotHoldOnceAborted) {
    FakeClock host;
    DeviceClock clock = pacedFrom(host);
    aborted_ = true;
    clock.hold(clock.freeAt(), std::chrono::hours(1));
    EXPECT_EQ(host.sleeps(), 0);
}

TEST_F(DeviceClockTest, LooksUpFromLongHolds) {
    FakeClock host;
    DeviceClock clock = pacedFrom(host);
    clock.hold(clock.freeAt(), 10s);
    EXPECT_GE(host.sleeps(), 100);
}

} // namespace
} // namespace bubblescope::runtime
