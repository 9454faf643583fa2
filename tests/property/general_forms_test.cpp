// Closed forms with latency and on unequal stages, the bound that holds for any order, and quoted forms with their
// verdicts, against simulation.

#include "core/graph/simulate.h"
#include "core/schedule/dependency.h"
#include "core/theory/closed_form.h"
#include "core/theory/forms/family_theory.h"
#include "tests/property/form_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

using test::checkForm;
using test::compareWithSimulation;
using test::FormCheck;
using test::Ratio;
using test::wholeTimes;

/// Even times, so that half of them can be compared with a latency.
constexpr Ratio kEven[] = {{2, 2}, {2, 4}, {4, 6}, {6, 2}};

CostModel costsOf(Ratio ratio, int comm) {
    CostModel costs;
    costs.times = wholeTimes(ratio);
    costs.comm = TimeNs{comm};
    return costs;
}

class LatencyForms : public testing::TestWithParam<int> {}; // p

TEST_P(LatencyForms, OneChunkEqualsSimulation) {
    const int p = GetParam();
    int compared = 0;
    for (const char* const family : {"fthenb", "1f1b", "eager-1f1b"})
        for (int m = 1; m <= 64; ++m)
            for (const Ratio ratio : kEven)
                for (const int comm : {1, 2, 3, 5, 40})
                    compared += compareWithSimulation({family, "", p, m, 1}, costsOf(ratio, comm));
    test::reportCompared(compared);
}

TEST_P(LatencyForms, LoopsEqualSimulation) {
    const int p = GetParam();
    int compared = 0;
    for (const auto& [family, flavor] : {std::pair("looped-bfs", "breadth-first"), std::pair("looped-bfs", "torch"),
                                         std::pair("interleaved-fthenb", ""), std::pair("vpp-balanced-memory", "")})
        for (int m = 1; m <= 64; m += 1 + m / 4)
            for (const int v : {1, 2, 3, 6})
                for (const Ratio ratio : kEven)
                    for (const int comm : {1, 3, 40})
                        if (const ScheduleSpec spec{family, flavor, p, m, v}; makeSchedule(spec).ok())
                            compared += compareWithSimulation(spec, costsOf(ratio, comm));
    test::reportCompared(compared);
}

/// Exact with equal groups while no transfer takes longer than an op; a bound beyond.
TEST_P(LatencyForms, InterleavedEqualsSimulation) {
    const int p = GetParam();
    int compared = 0;
    int bounds = 0;
    const auto check = [&](const ScheduleSpec& spec, bool equal_groups) {
        for (const Ratio ratio : kEven) {
            for (const int comm : {1, 2, 3}) {
                const FormCheck found = checkForm(makeSchedule(spec).value(), costsOf(ratio, comm));
                const bool exact = p == 1 || spec.microbatches == 1 ||
                                   (equal_groups && comm <= std::min(ratio.forward, ratio.backward));
                EXPECT_EQ(found.kind == FormKind::Exact, exact)
                    << spec.flavor << " p=" << p << " m=" << spec.microbatches;
                compared += found.compared;
                bounds += found.kind == FormKind::Exact ? 0 : 1;
            }
        }
    };
    for (const int v : {2, 3}) {
        for (int n = p; n <= std::min(64, 2 * p + 2); ++n) {
            for (int m = n; m <= std::min(64, 3 * n); m += n) {
                ScheduleSpec spec{"interleaved", "megatron", p, m, v};
                spec.group_size = n;
                check(spec, true);
            }
        }
        for (int m = 1; m < p; ++m)
            check({"interleaved", "torch", p, m, v}, true);
        if (2 * p + 1 <= 64) check({"interleaved", "balanced", p, 2 * p + 1, v}, false);
    }
    RecordProperty("bounds", bounds);
    test::reportCompared(compared);
}

std::vector<int> sizes() {
    std::vector<int> all;
    for (int p = 1; p <= 16; ++p)
        if (test::inGrid(p)) all.push_back(p);
    return all;
}
INSTANTIATE_TEST_SUITE_P(P, LatencyForms, testing::ValuesIn(sizes()), testing::PrintToStringParamName());

OpTimes randomTimes(std::mt19937& random) {
    return test::splitTimes(1 + static_cast<int>(random() % 9), 1 + static_cast<int>(random() % 9),
                            static_cast<int>(random() % 9));
}

TEST(UnequalStages, FThenBIsExactAndOneFOneBWhereTheLastStageIsTheSlowest) {
    std::mt19937 random(7);
    int compared = 0;
    int exact = 0;
    for (int i = 0; i < 3000; ++i) {
        const int p = 1 + static_cast<int>(random() % 10);
        const int m = 1 + static_cast<int>(random() % 30);
        CostModel costs;
        TimeNs longest{0};
        for (int s = 0; s < p; ++s) {
            costs.stages.push_back(randomTimes(random));
            longest = std::max(longest, costs.stages.back().forward + costs.stages.back().backward);
        }
        if (i % 3 == 0) { // more of those with the slowest stage last
            costs.stages.back().forward = longest - costs.stages.back().backward;
        }
        const bool last = costs.stages.back().forward + costs.stages.back().backward == longest;
        const FormCheck one = checkForm(makeSchedule({"1f1b", "", p, m, 1}).value(), costs);
        EXPECT_EQ(one.kind, last ? FormKind::Exact : FormKind::LowerBound);
        exact += last ? 1 : 0;
        costs.comm = TimeNs{random() % 4};
        compared += one.compared + compareWithSimulation({"fthenb", "", p, m, 1}, costs);
        compared += checkForm(makeSchedule({"1f1b", "", p, m, 1}).value(), costs).compared;
    }
    EXPECT_GT(exact, 1000);
    test::reportCompared(compared);
}

/// An order that a rank picks at random among what is ready, so valid and free of deadlock.
Schedule randomOrder(std::mt19937& random, int p, int m, int v, Placement placement, bool split) {
    Schedule schedule{"custom", "", p, m, v, placement, {}};
    schedule.ranks.resize(static_cast<std::size_t>(p));
    const int stages = p * v;
    std::vector<std::pair<OpKind, std::pair<int, int>>> ready; // kind, micro-batch and stage
    for (int i = 0; i < m; ++i)
        ready.push_back({OpKind::Forward, {i, 0}});
    const OpKind backward = split ? OpKind::BackwardInput : OpKind::Backward;
    while (!ready.empty()) {
        const std::size_t pick = random() % ready.size();
        const auto [kind, at] = ready[pick];
        const auto [microbatch, stage] = at;
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
        const Location place = locate(placement, p, Stage{stage});
        schedule.ranks[place.rank.index()].push_back({kind, Microbatch{microbatch}, place.chunk});
        if (kind == OpKind::Forward)
            ready.push_back({stage + 1 < stages ? kind : backward, {microbatch, std::min(stage + 1, stages - 1)}});
        if (kind == backward && stage > 0) ready.push_back({backward, {microbatch, stage - 1}});
        if (kind == OpKind::BackwardInput) ready.push_back({OpKind::BackwardWeight, at});
    }
    return schedule;
}

TEST(OrderBound, HoldsForRandomOrdersAndTimes) {
    std::mt19937 random(11);
    int compared = 0;
    int tight = 0;
    for (int i = 0; i < 4000; ++i) {
        const int p = 1 + static_cast<int>(random() % 5);
        const int v = 1 + static_cast<int>(random() % 3);
        const Schedule schedule = randomOrder(random, p, 1 + static_cast<int>(random() % 7), v,
                                              i % 2 == 0 ? Placement::Loop : Placement::V, i % 3 == 0);
        CostModel costs;
        costs.times = randomTimes(random);
        costs.comm = TimeNs{random() % 5};
        for (int s = 0; s < p * v && i % 4 == 0; ++s)
            costs.stages.push_back(randomTimes(random));
        const FormCheck check = checkForm(schedule, costs);
        EXPECT_EQ(check.kind, FormKind::LowerBound);
        compared += check.compared;
        tight += orderBound(schedule, costs).value().makespan == simulate(schedule, costs).value().wall() ? 1 : 0;
    }
    EXPECT_GT(tight, 400);
    test::reportCompared(compared);
}

TEST(OrderBound, HoldsForEveryFamilyAndIsExactForOneFOneB) {
    int compared = 0;
    CostModel costs;
    costs.times = test::splitTimes(3, 3, 2);
    for (const int comm : {0, 2}) {
        costs.comm = TimeNs{comm};
        costs.overlapped = TimeNs{comm + 5};
        for (const ScheduleFamily& family : scheduleFamilies()) {
            for (int p = 1; p <= 8; ++p) {
                for (const int m : {1, p, 2 * p, 3 * p + 1}) {
                    for (int v = 1; v <= 4; ++v) {
                        const auto schedule = makeSchedule({std::string(family.name), "", p, m, v});
                        if (!schedule.ok()) continue;
                        const auto step = simulate(schedule.value(), costs).value();
                        const TimeNs bound = orderBound(schedule.value(), costs).value().makespan;
                        EXPECT_LE(bound, step.wall()) << family.name << " p=" << p << " m=" << m << " v=" << v;
                        if (family.name == "1f1b" && comm == 0) {
                            EXPECT_EQ(bound, step.wall());
                        }
                        ++compared;
                    }
                }
            }
        }
    }
    test::reportCompared(compared);
}

TEST(OrderBound, RefusesWhatCannotRun) {
    const auto deadlock = closedForm(makeSchedule({"interleaved", "paddle-static", 4, 5, 3}).value(), CostModel{});
    ASSERT_FALSE(deadlock.ok());
    EXPECT_EQ(deadlock.error().kind, ErrorKind::Input);
    Schedule incomplete = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    incomplete.name = "custom";
    incomplete.microbatches = 9;
    EXPECT_FALSE(closedForm(incomplete, CostModel{}).ok());
    CostModel few;
    few.stages.resize(3);
    EXPECT_EQ(closedForm(makeSchedule({"1f1b", "", 4, 8, 1}).value(), few).error().kind, ErrorKind::Usage);
}

/// On all sides of the quotes' domains: ratios of forward and backward, of its halves, pairs and a latency.
std::vector<CostModel> quoteCosts() {
    std::vector<CostModel> all;
    for (const OpTimes& times :
         {test::splitTimes(4, 2, 2), test::splitTimes(4, 3, 3), test::splitTimes(4, 4, 4), test::splitTimes(6, 1, 1),
          test::splitTimes(8, 3, 3), test::splitTimes(4, 4, 2), test::splitTimes(4, 5, 3), test::splitTimes(3, 5, 6),
          test::splitTimes(5, 3, 4), test::splitTimes(9, 3, 1), test::splitTimes(4, 6, 0), test::splitTimes(4, 4, 1)}) {
        CostModel costs;
        costs.times = times;
        all.push_back(costs);
        costs.overlapped = times.forward + times.backward - TimeNs{1};
        all.push_back(costs);
        costs.comm = TimeNs{1};
        all.push_back(costs);
    }
    return all;
}

TEST(QuotedForms, HoldJustWhereTheySay) {
    int compared = 0;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        const FamilyTheory* const theory = findFamilyTheory(family.name);
        if (theory == nullptr || theory->quoted_forms == nullptr) continue;
        for (const std::string_view flavor : flavorsOf(family))
            for (int p = 1; p <= 6; ++p)
                for (int m = 1; m <= 13; ++m)
                    for (int v = 1; v <= 3; ++v)
                        if (const auto schedule =
                                makeSchedule({std::string(family.name), std::string(flavor), p, m, v});
                            schedule.ok())
                            for (const CostModel& costs : quoteCosts())
                                compared += test::checkQuotes(schedule.value(), costs);
    }
    test::reportCompared(compared);
    EXPECT_GT(compared, 10'000);
}

} // namespace
} // namespace bubblescope
