#include "core/aadiff/bubble_forecast.h"

#include <gtest/gtest.h>

#include <chrono>

namespace bubblescope {
namespace {

using namespace std::chrono_literals;

TEST(BubbleForecast, IsTheShortestOfTheLastEight) {
    BubbleForecast forecast;
    EXPECT_EQ(forecast.shortest(2, 1), std::nullopt);
    for (const TimeNs length : {TimeNs(5ms), TimeNs(3ms), TimeNs(4ms)})
        forecast.add(2, length);
    EXPECT_EQ(forecast.shortest(2, 3), TimeNs(3ms));
    EXPECT_EQ(forecast.shortest(2, 4), std::nullopt) << "too few are known";
    EXPECT_EQ(forecast.shortest(1, 1), std::nullopt) << "another place";
    for (std::size_t i = 0; i < BubbleForecast::kLast; ++i)
        forecast.add(2, 7ms);
    EXPECT_EQ(forecast.shortest(2, 1), TimeNs(7ms)) << "the short one is long ago";
}

TEST(BubbleForecast, TakesANegativeLengthForNone) {
    BubbleForecast forecast;
    forecast.add(0, -1ms);
    EXPECT_EQ(forecast.shortest(0, 1), TimeNs(0));
}

TEST(BubbleForecast, LeavesAFifthUnused) {
    EXPECT_EQ(BubbleForecast::usable(10ms), TimeNs(8ms));
}

} // namespace
} // namespace bubblescope
