#include "core/analysis/comparison/relabelling.h"

#include <gtest/gtest.h>

#include <random>

namespace bubblescope {
namespace {

StepTable table(std::size_t a, std::size_t b, std::vector<double> values) {
    return {a, b, std::move(values)};
}

TEST(RelabellingTest, CountsEveryWayToDealFewSteps) {
    // 4 of 8 can be dealt in 70 ways; only the one seen and its mirror image part the small from the large.
    const auto chances = relabellingTest(table(4, 4, {10, 11, 12, 13, 20, 21, 22, 23}));
    ASSERT_EQ(chances.size(), 1U);
    EXPECT_DOUBLE_EQ(chances[0], 2.0 / 70);
    EXPECT_DOUBLE_EQ(leastChance(4, 4), 2.0 / 70);
}

TEST(RelabellingTest, HasNoMirrorImageWithUnequalRuns) {
    const auto chances = relabellingTest(table(3, 4, {10, 11, 12, 20, 21, 22, 23}));
    EXPECT_DOUBLE_EQ(chances[0], 1.0 / 35);
    EXPECT_DOUBLE_EQ(leastChance(3, 4), 1.0 / 35);
}

TEST(RelabellingTest, FindsNothingInEqualValues) {
    const auto chances = relabellingTest(table(5, 5, std::vector<double>(10, 1e6)));
    EXPECT_DOUBLE_EQ(chances[0], 1);
}

TEST(RelabellingTest, MeasuresThatMoveTogetherCostNothing) {
    std::vector<double> values;
    for (int copy = 0; copy < 100; ++copy) {
        for (const double value : {10, 11, 12, 13, 20, 21, 22, 23})
            values.push_back(value * 1000);
    }
    for (const double chance : relabellingTest(table(4, 4, values)))
        EXPECT_DOUBLE_EQ(chance, 2.0 / 70);
}

TEST(RelabellingTest, OneTrueChangeAmongNoiseIsFoundAndTheNoiseIsNot) {
    std::mt19937 random(7);
    std::normal_distribution<double> noise(1e6, 1e4);
    StepTable steps{10, 10, {}};
    for (int measure = 0; measure < 50; ++measure) {
        for (std::size_t column = 0; column < 20; ++column)
            steps.values.push_back(noise(random) + (measure == 17 && column >= 10 ? 1e5 : 0));
    }
    const auto chances = relabellingTest(steps);
    for (std::size_t i = 0; i < chances.size(); ++i) {
        if (i == 17)
            EXPECT_LT(chances[i], 0.002);
        else
            EXPECT_GT(chances[i], 0.05) << i;
    }
}

TEST(RelabellingTest, TooFewStepsGiveNoAnswer) {
    EXPECT_TRUE(relabellingTest(table(1, 5, {1, 2, 3, 4, 5, 6})).empty());
    EXPECT_EQ(leastChance(1, 5), 1);
    EXPECT_TRUE(relabellingTest({}).empty());
}

TEST(EstimateShift, IsTheMedianDifference) {
    const std::vector<double> a{1, 2, 3};
    const std::vector<double> b{11, 12, 13, 100};
    const Shift shift = estimateShift(a, b);
    // The twelve differences in order: 8 9 9 10 10 10 11 11 12 97 98 99.
    EXPECT_DOUBLE_EQ(shift.estimate, 10.5);
    EXPECT_DOUBLE_EQ(shift.low, 8);
    EXPECT_DOUBLE_EQ(shift.high, 99);
}

TEST(EstimateShift, TheIntervalCoversTheTruthAsOftenAsItSays) {
    std::mt19937 random(3);
    std::normal_distribution<double> noise(0, 1);
    int covered = 0;
    constexpr int kRuns = 1000;
    for (int i = 0; i < kRuns; ++i) {
        std::vector<double> a(12);
        std::vector<double> b(15);
        for (double& value : a)
            value = noise(random);
        for (double& value : b)
            value = noise(random) + 0.7;
        const Shift shift = estimateShift(a, b);
        covered += shift.low <= 0.7 && 0.7 <= shift.high ? 1 : 0;
    }
    EXPECT_GT(covered, 930);
    EXPECT_LT(covered, 980);
}

} // namespace
} // namespace bubblescope
