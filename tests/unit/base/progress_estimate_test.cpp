#include "core/base/progress_estimate.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kTotal = 1'000'000'000;

double secondsLeft(const ProgressEstimate& estimate) {
    return static_cast<double>(estimate.remaining().value_or(TimeNs{-1}).count()) / 1e9;
}

TEST(ProgressEstimate, IsExactAtASteadySpeed) {
    ProgressEstimate estimate;
    for (int i = 0; i <= 50; ++i) { // 100 MB per second
        estimate.observe(TimeNs{7s} + i * TimeNs{100ms}, static_cast<std::uint64_t>(i) * 10'000'000, kTotal);
        if (i < 5) {
            EXPECT_EQ(estimate.remaining(), std::nullopt) << "too early to tell";
        } else {
            EXPECT_NEAR(secondsLeft(estimate), 10.0 - 0.1 * i, 0.01);
        }
    }
    EXPECT_EQ(estimate.text(), "500 of 1000 MB, about 5 s left");
}

TEST(ProgressEstimate, FollowsAChangeOfSpeedWithinSeconds) {
    ProgressEstimate estimate;
    std::uint64_t done = 0;
    TimeNs now{0};
    const auto run = [&](int steps, std::uint64_t bytes) {
        for (int i = 0; i < steps; ++i)
            estimate.observe(now += 100ms, done += bytes, kTotal);
    };
    run(30, 10'000'000); // 100 MB/s
    run(60, 1'000'000);  // then 10 MB/s for four half-lives
    const double exact = static_cast<double>(kTotal - done) / 10e6;
    EXPECT_GT(secondsLeft(estimate), exact * 0.6);
    EXPECT_LT(secondsLeft(estimate), exact);
}

TEST(ProgressEstimate, IsNotUpsetByAHiccup) {
    ProgressEstimate estimate;
    for (int i = 0; i <= 30; ++i)
        estimate.observe(i * TimeNs{100ms}, static_cast<std::uint64_t>(i) * 10'000'000, kTotal);
    const double before = secondsLeft(estimate);
    estimate.observe(TimeNs{3300ms}, 300'000'000, kTotal); // nothing for 0.3 s
    EXPECT_GT(secondsLeft(estimate), before);
    EXPECT_LT(secondsLeft(estimate), before * 1.3);
}

TEST(ProgressEstimate, DoesNotDependOnHowOftenItIsAsked) {
    ProgressEstimate often;
    ProgressEstimate seldom;
    for (int i = 0; i <= 400; ++i) {
        const TimeNs now = i * TimeNs{10ms};
        const std::uint64_t done = static_cast<std::uint64_t>(i) * 1'000'000;
        often.observe(now, done, kTotal);
        if (i % 50 == 0) seldom.observe(now, done, kTotal);
    }
    EXPECT_NEAR(secondsLeft(often), secondsLeft(seldom), 0.01);
}

TEST(ProgressEstimate, SaysNothingItCannotKnow) {
    ProgressEstimate estimate;
    EXPECT_EQ(estimate.remaining(), std::nullopt);
    estimate.observe(TimeNs{0}, 0, 0);
    estimate.observe(TimeNs{2s}, 5'000'000, 0);
    EXPECT_EQ(estimate.remaining(), std::nullopt);
    EXPECT_EQ(estimate.text(), "5 MB") << "a pipe's size is not known";
    ProgressEstimate stuck;
    stuck.observe(TimeNs{0}, 0, kTotal);
    stuck.observe(TimeNs{5s}, 0, kTotal);
    EXPECT_EQ(stuck.remaining(), std::nullopt);
    stuck.observe(TimeNs{6s}, kTotal, kTotal);
    EXPECT_TRUE(stuck.readAll());
    EXPECT_EQ(stuck.text(), "1000 MB read, sorting");
}

TEST(ProgressEstimate, BeginsAgainWithAnotherJob) {
    ProgressEstimate estimate;
    for (int i = 0; i <= 30; ++i)
        estimate.observe(i * TimeNs{100ms}, static_cast<std::uint64_t>(i) * 10'000'000, kTotal);
    estimate.observe(TimeNs{4s}, 0, kTotal);
    EXPECT_EQ(estimate.remaining(), std::nullopt);
}

TEST(RoughTime, RoundsUp) {
    EXPECT_EQ(roughTime(TimeNs{-5}), "1 s");
    EXPECT_EQ(roughTime(1s), "1 s");
    EXPECT_EQ(roughTime(2100ms), "3 s");
    EXPECT_EQ(roughTime(11s), "15 s");
    EXPECT_EQ(roughTime(100s), "2 min");
    EXPECT_EQ(roughTime(3h), "3 h");
}

} // namespace
} // namespace bubblescope
