#include "core/timeline/step_selection.h"

#include "tests/support/oracles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

constexpr auto kTaken = SetAside::None;
constexpr auto kWarm = SetAside::WarmUp;
constexpr auto kOut = SetAside::Outlier;

std::vector<SetAside> judge(const std::vector<double>& times) {
    std::vector<TimeNs> steps;
    for (const double time : times)
        steps.emplace_back(std::llround(time * 1e6));
    return judgeSteps(steps);
}

/// A step of each number and replica, so long.
StepTimeline stepOf(int index, int replica, int wall) {
    StepTimeline step;
    step.index = index;
    step.replica = replica;
    step.pp = 4;
    step.end = TimeNs{wall};
    return step;
}

std::vector<StepTimeline> stepsOf(std::initializer_list<int> walls) {
    std::vector<StepTimeline> steps;
    for (const int wall : walls)
        steps.push_back(stepOf(static_cast<int>(steps.size()), 0, wall));
    return steps;
}

TEST(StepSelection, FewSteps) {
    EXPECT_EQ(judge({7}), (std::vector{kTaken}));
    EXPECT_EQ(judge({7, 6}), (std::vector{kTaken, kTaken}));
    EXPECT_EQ(judge({90, 5}), (std::vector{kWarm, kTaken}));
    EXPECT_EQ(judge({5, 90}), (std::vector{kTaken, kTaken})) << "which of the two is the odd one?";
    EXPECT_EQ(judge({90, 5, 5}), (std::vector{kWarm, kTaken, kTaken}));
    EXPECT_EQ(judge({5, 90, 5}), (std::vector{kTaken, kOut, kTaken}));
    EXPECT_EQ(judge({5, 90, 5, 5}), (std::vector{kTaken, kOut, kTaken, kTaken}));
    EXPECT_EQ(judge({1, 1, 5, 1, 1, 5, 1, 1, 5}), std::vector(9, kTaken)) << "that is how the run is";
    EXPECT_EQ(judge({307.2, 314.1, 296.0}), (std::vector{kTaken, kTaken, kTaken}));
    EXPECT_TRUE(judge({}).empty());
}

TEST(StepSelection, WarmUpIsAsLongAsItLasts) {
    EXPECT_EQ(judge({5, 3, 2, 1.5, 1.01, 1, 1, 1, 1, 1}),
              (std::vector{kWarm, kWarm, kWarm, kWarm, kTaken, kTaken, kTaken, kTaken, kTaken, kTaken}));
    // At most half: then it is not the beginning that is odd.
    const auto judged = judge({64, 32, 16, 8, 4, 2, 1, 0.5});
    EXPECT_LE(std::ranges::count(judged, kWarm), 4);
}

TEST(StepSelection, TheTypicalStepIsTheLowerMedianOfWhatIsLeft) {
    const auto typical = [](std::initializer_list<int> walls) { return selectSteps(stepsOf(walls)).typicalTimeline(); };
    EXPECT_EQ(typical({7}), 0U);
    EXPECT_EQ(typical({90, 5}), 1U);
    EXPECT_EQ(typical({90, 9, 5, 7}), 3U);
    EXPECT_EQ(typical({5, 7}), 0U) << "the shorter of two";
    EXPECT_EQ(typical({307, 314, 296}), 0U);
    EXPECT_EQ(typical({90, 5, 5, 5}), 2U);
}

/// Runs of steps of about 100 with normal noise, always the same.
std::vector<std::vector<double>> noisyRuns() {
    std::vector<std::vector<double>> runs;
    for (const std::size_t size : {1U, 2U, 3U, 4U, 5U, 8U, 16U, 17U, 40U, 200U}) {
        for (const double noise : {0.0, 0.001, 0.02}) {
            for (unsigned seed = 1; seed <= 5; ++seed) {
                std::mt19937 random(seed);
                std::normal_distribution<double> normal(0, noise);
                std::vector<double>& times = runs.emplace_back(size);
                for (double& time : times)
                    time = 100 * std::exp(normal(random));
            }
        }
    }
    return runs;
}

TEST(NoisyRuns, AreLeftAloneWhereEven) {
    for (const std::vector<double>& times : noisyRuns()) {
        const auto judged = judge(times);
        EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(judged, kTaken)), judged.size());
    }
}

TEST(NoisyRuns, LoseWarmUpAndSpikes) {
    for (std::vector<double> times : noisyRuns()) {
        if (times.size() < 12) continue; // too few to hold both
        times[0] *= 5;
        times[1] *= 2.2;
        const std::size_t spike = times.size() - 4;
        times[spike] *= 3;
        const auto judged = judge(times);
        for (std::size_t i = 0; i < times.size(); ++i)
            EXPECT_EQ(judged[i], i < 2 ? kWarm : i == spike ? kOut : kTaken) << i << " of " << times.size();
    }
}

TEST(NoisyRuns, HaveNoOutliersWhereTheyChangeForGood) {
    for (const std::vector<double>& even : noisyRuns()) {
        for (const double factor : {0.5, 1.5, 4.0}) {
            for (std::size_t at = 8; at + 8 <= even.size(); at += 5) {
                std::vector<double> times = even;
                for (std::size_t i = at; i < times.size(); ++i)
                    times[i] *= factor;
                const auto judged = judge(times);
                EXPECT_EQ(std::ranges::count(judged, kOut), 0) << factor << " at " << at << " of " << times.size();
                EXPECT_EQ(std::ranges::count(judged, kWarm), 0) << factor << " at " << at << " of " << times.size();
            }
        }
    }
}

TEST(NoisyRuns, AreJudgedAlikeInAnyUnit) {
    for (std::vector<double> times : noisyRuns()) {
        times.back() *= 2;
        times.front() *= 2;
        const auto judged = judge(times);
        for (double& time : times)
            time *= 37;
        EXPECT_EQ(judge(times), judged);
    }
}

TEST(NoisyRuns, NeverLoseAll) {
    for (std::vector<double> times : noisyRuns()) {
        for (std::size_t i = 0; i < times.size(); ++i)
            times[i] *= i % 3 == 0 ? 10 : i % 3 == 1 ? 1 : 0.1;
        EXPECT_GE(3 * std::ranges::count(judge(times), kTaken), static_cast<std::ptrdiff_t>(times.size()));
        std::ranges::sort(times, std::greater{});
        EXPECT_GE(3 * std::ranges::count(judge(times), kTaken), static_cast<std::ptrdiff_t>(times.size()));
    }
}

TEST(StepSelection, RealRuns) {
    const test::Json& runs = test::oracleDocument("step-times/runs.json");
    for (const auto& [name, times] : runs.items()) {
        const auto seconds = times.get<std::vector<double>>();
        const std::vector<SetAside> judged = judge(seconds);
        std::vector<double> sorted = seconds;
        std::ranges::sort(sorted);
        const double middle = sorted[sorted.size() / 2];
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            const std::string where = name + ", sample " + std::to_string(i);
            const bool among = i >= 1 && i + 1 < seconds.size();
            // Single samples far above their neighbours are spikes, the first ones far above all are warm-up.
            if (i == 0 && seconds[i] > 2 * middle) {
                EXPECT_EQ(judged[i], kWarm) << where;
            }
            if (i > 20) {
                EXPECT_NE(judged[i], kWarm) << where;
            }
            if (among && i > 20 && seconds[i] > 2 * std::max(seconds[i - 1], seconds[i + 1])) {
                EXPECT_EQ(judged[i], kOut) << where;
            }
        }
        EXPECT_LT(std::ranges::count(judged, kOut), 0.1 * static_cast<double>(seconds.size())) << name;
    }
    EXPECT_EQ(runs.size(), 14U);
}

TEST(StepSelection, ReplicasOfANumberAreOneStep) {
    std::vector<StepTimeline> steps;
    for (int index = 0; index < 6; ++index) {
        for (int replica = 0; replica < 3; ++replica)
            steps.push_back(stepOf(index, replica, (index == 0 ? 500 : 100) + index + (replica == 1 ? 50 : 0)));
    }
    const StepSelection selection = selectSteps(steps);
    EXPECT_EQ(selection.steps().size(), 6U);
    EXPECT_EQ(selection.replicas(), 3U);
    EXPECT_EQ(selection.taken(), 5U);
    EXPECT_EQ(selection.typical().index, 3);
    EXPECT_EQ(selection.stepTime(), TimeNs{153});
    EXPECT_EQ(steps[selection.typicalTimeline()].replica, 1) << "the replica that the others wait for";
    EXPECT_FALSE(selection.isSteady(2));
    EXPECT_TRUE(selection.isSteady(3));
    EXPECT_EQ(selection.summary().text(), "5 of 6 steps × 3 replicas; excluded: warm-up 0");
}

TEST(StepSelection, SaysInALineWhatIsSetAside) {
    EXPECT_EQ(selectSteps(stepsOf({5})).summary().text(), "1 step");
    EXPECT_EQ(selectSteps(stepsOf({5, 5, 5})).summary().text(), "3 steps");
    const auto steps = stepsOf({90, 40, 5, 5, 5, 5, 25, 5, 5, 5, 5, 5, 5, 5, 25, 5, 5});
    EXPECT_EQ(selectSteps(steps).summary().text(), "13 of 17 steps; excluded: warm-up 0-1, outliers 6,14");
    StepRequest request;
    request.steps = parseStepRanges("0,3-4").value();
    EXPECT_EQ(selectSteps(steps, request).value().summary().text(), "3 of 17 steps, as selected");
}

TEST(StepSelection, WhatIsAskedForIsTaken) {
    std::vector<StepTimeline> steps;
    for (int index = 0; index < 6; ++index) {
        for (int replica = 0; replica < 2; ++replica)
            steps.push_back(stepOf(index, replica, (index == 0 ? 500 : 100) + 10 * replica));
    }
    StepRequest request;
    request.steps = parseStepRanges("0,2-3/1").value();
    const StepSelection asked = selectSteps(steps, request).value();
    EXPECT_EQ(asked.taken(), 3U);
    EXPECT_EQ(asked.count(SetAside::NotAsked), 3U);
    EXPECT_TRUE(asked.takes(0)) << "warm-up as well";
    EXPECT_FALSE(asked.isSteady(0)) << "which does not make it usual";
    EXPECT_FALSE(asked.takes(4)) << "the other replica";
    EXPECT_TRUE(asked.takes(5));
    EXPECT_EQ(asked.typical().index, 3);

    StepRequest replica;
    replica.replicas = {0};
    const StepSelection of_replica = selectSteps(steps, replica).value();
    EXPECT_EQ(of_replica.taken(), 5U) << "warm-up is set aside all the same";
    EXPECT_EQ(of_replica.stepTime(), TimeNs{100});
    EXPECT_EQ(of_replica.typicalTimeline() % 2, 0U);
}

TEST(StepSelection, SaysWhatDoesNotExist) {
    const std::vector<StepTimeline> steps = stepsOf({5, 5, 5});
    const auto refusal = [&](const char* text) {
        StepRequest request;
        request.steps = parseStepRanges(text).value();
        const auto selection = selectSteps(steps, request);
        return selection.ok() ? std::string() : selection.error().text();
    };
    EXPECT_EQ(refusal("1-19"), "") << "as far as there are";
    EXPECT_NE(refusal("7").find("there is no step 7"), std::string::npos);
    EXPECT_NE(refusal("7").find("steps 0-2"), std::string::npos);
    EXPECT_NE(refusal("1/4").find("there is no step 1/4"), std::string::npos);
    StepRequest rank;
    rank.ranks = {4};
    EXPECT_FALSE(selectSteps(steps, rank).ok());
    StepRequest replica;
    replica.replicas = {1};
    EXPECT_FALSE(selectSteps(steps, replica).ok());
}

TEST(StepRanges, AreReadAndWritten) {
    for (const char* text : {"3", "5-9", "809/0", "1-19/2"}) {
        const auto ranges = parseStepRanges(text);
        ASSERT_TRUE(ranges.ok()) << text;
        ASSERT_EQ(ranges.value().size(), 1U);
        EXPECT_EQ(toText(ranges.value().front()), text);
    }
    EXPECT_EQ(parseStepRanges("3,5-9,809/0").value().size(), 3U);
    for (const char* text : {"", "x", "3-", "9-5", "3/", "-3", "3,", "3;4", "3--5", "99999999999", "1/-2", "3 4"})
        EXPECT_FALSE(parseStepRanges(text).ok()) << text;
}

} // namespace
} // namespace bubblescope
