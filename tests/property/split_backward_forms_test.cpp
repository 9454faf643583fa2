// The closed forms of ZB-H1, ZB-H2 and interleaved zero-bubble against simulation.

#include "core/bubble/closed_form.h"
#include "core/schedule/validate.h"
#include "core/simulate/simulate.h"
#include "tests/property/form_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

namespace bubblescope {
namespace {

using test::compareWithSimulation;
using test::splitTimes;

/// F, I and W: halves of the ratios 1:1, 1:2, 2:3 and 3:1, and W from 0 to above F and I.
std::vector<OpTimes> splitGrid() {
    std::vector<OpTimes> grid{splitTimes(2, 1, 1), splitTimes(1, 1, 1), splitTimes(4, 3, 3), splitTimes(6, 1, 1)};
    for (const auto& [forward, input] : {std::pair(3, 3), std::pair(2, 5), std::pair(5, 2)})
        for (const int weight : {0, 1, 3, 6})
            grid.push_back(splitTimes(forward, input, weight));
    return grid;
}

constexpr std::array kRanks{1, 2, 3, 4, 5, 8, 11, 16};

TEST(SplitBackwardForms, ZbH1EqualsSimulation) {
    int compared = 0;
    for (const int p : kRanks)
        for (int m : {p, p + 1, 2 * p - 1, 2 * p, 3 * p + 1, 64})
            for (const OpTimes& times : splitGrid())
                for (const char* const flavor : {"handcrafted", "paddle"})
                    compared += compareWithSimulation({"zb-h1", flavor, p, m, 1}, times);
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
}

TEST(SplitBackwardForms, ZbH1WithFewMicrobatches) {
    int compared = 0;
    for (int p = 2; p <= 16; ++p)
        for (int m = 1; m < p; ++m)
            for (const OpTimes& times : splitGrid())
                compared += compareWithSimulation({"zb-h1", "handcrafted", p, m, 1}, times);
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 5'000);
}

TEST(SplitBackwardForms, InterleavedZbEqualsSimulation) {
    int compared = 0;
    for (const int p : kRanks)
        for (int m : {p, 2 * p, 2 * p + 2, 3 * p})
            for (int v : {1, 2, 3, 6})
                for (const OpTimes& times : splitGrid())
                    if (m % (m / p) == 0) compared += compareWithSimulation({"interleaved-zb", "", p, m, v}, times);
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
    CostModel costs;
    costs.times = splitTimes(1, 1, 1);
    EXPECT_FALSE(closedForm(makeSchedule({"interleaved-zb", "", 4, 3, 2}).value(), costs).value().exact());
}

/// The bubble that the papers count: on the longest rank from its first op to its last.
TimeNs spanBubble(const ScheduleSpec& spec, const OpTimes& times) {
    CostModel costs;
    costs.times = times;
    const StepTimeline step = simulate(makeSchedule(spec).value(), costs).value();
    TimeNs longest{0};
    for (const auto& ops : step.ranks)
        longest = std::max(longest, ops.back().end - ops.front().start);
    return longest - spec.microbatches * (times.forward + times.backward);
}

TEST(SplitBackwardForms, ZbH2EqualsSimulation) {
    int compared = 0;
    for (const int p : kRanks) {
        for (int m : {2 * p - 1, 2 * p, 3 * p, 4 * p + 1, 64}) {
            for (const OpTimes& t : splitGrid()) {
                const ScheduleSpec spec{"zb-h2", "", p, m, 1};
                compared += compareWithSimulation(spec, t);
                const TimeNs wait = std::max(t.forward + t.input_grad - 2 * t.weight_grad, t.input_grad - t.forward);
                EXPECT_EQ(spanBubble(spec, t), (p - 1) * std::max(wait, TimeNs{0})) << "p=" << p << " m=" << m;
                ++compared;
            }
        }
    }
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 5'000);
}

TEST(SplitBackwardForms, ActivationPeaksAreThoseOf1F1BAndTwiceThem) {
    for (int p = 1; p <= 8; ++p) {
        const auto h1 = peakActivations(makeSchedule({"zb-h1", "handcrafted", p, 3 * p, 1}).value());
        const auto h2 = peakActivations(makeSchedule({"zb-h2", "", p, 3 * p, 1}).value());
        EXPECT_EQ(std::ranges::max(h1), p);
        EXPECT_EQ(std::ranges::max(h2), 2 * p - 1);
    }
}

} // namespace
} // namespace bubblescope
