// Orders that ranks choose while they run: for every family, rule and disturbance, the step ends, its order is valid,
// and no rank holds more than its limit.

#include "core/cost/measured_times.h"
#include "core/families/no_flush.h"
#include "core/families/registry.h"
#include "core/graph/cost_table.h"
#include "core/graph/dispatch.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::array kRules{DispatchRule::Ready, DispatchRule::Backward, DispatchRule::Oldest};

CostModel someCosts() {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{200}, {}, TimeNs{230}, TimeNs{170}).value();
    costs.comm = TimeNs{50};
    return costs;
}

/// Ops take from 0.2 to 4 times as long, and transfers up to 10 times, so that inputs arrive in any order.
CostModel disturbed(const Schedule& schedule, CostModel costs, std::mt19937& random) {
    std::uniform_int_distribution<std::int64_t> op(40, 800);
    std::uniform_int_distribution<std::int64_t> transfer(0, 500);
    auto measured = std::make_shared<MeasuredTimes>();
    for (int r = 0; r < schedule.pp; ++r) {
        for (const Op& each : schedule.ranks[Rank{r}.index()]) {
            measured->setOp(Rank{r}, each, TimeNs{op(random)});
            if (each.kind == OpKind::Forward || producesInputGradient(each.kind))
                measured->setTransfer(payloadOf(each.kind), each.microbatch, schedule.stageOf(Rank{r}, each.chunk),
                                      each.sequence, TimeNs{transfer(random)});
        }
    }
    costs.measured = std::move(measured);
    return costs;
}

std::vector<Schedule> allOrders(const std::vector<int>& pp, const std::vector<int>& microbatches, int slices) {
    std::vector<Schedule> all;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (trainsWithDelay(family.name)) continue; // see RefusesUpdatesWithinAStep
        for (const std::string_view flavor : flavorsOf(family)) {
            for (const int p : pp) {
                for (const int m : microbatches) {
                    for (const int v : {1, 2, 3}) {
                        ScheduleSpec spec{std::string(family.name), std::string(flavor), p, m, v};
                        spec.sequence_slices = slices;
                        auto made = makeSchedule(spec);
                        if (made.ok() && made.value().vpp == v && validate(made.value()).empty())
                            all.push_back(std::move(made).value());
                    }
                }
            }
        }
    }
    return all;
}

void expectEndsWithinItsLimit(const Schedule& hint, const CostModel& costs, const DispatchPolicy& policy) {
    const auto order = dispatched(hint, costs, policy);
    ASSERT_TRUE(order.ok()) << order.error().text();
    const int limit = inFlightLimit(hint, policy).value();
    ValidateOptions options;
    options.memory_limit = limit;
    const auto problems = validate(order.value(), options);
    EXPECT_TRUE(problems.empty()) << scheduleTitle(hint) << ", " << dispatchRuleName(policy.rule) << ": "
                                  << problems.front().message.text();
}

TEST(Dispatch, EndsWithinItsLimitForEveryFamilyAndDisturbance) {
    std::mt19937 random(7);
    int orders = 0;
    for (const int slices : {1, 3}) {
        for (const Schedule& hint : allOrders({1, 2, 3, 4, 6}, {1, 3, 4, 6, 8, 12}, slices)) {
            ++orders;
            const int peak = std::ranges::max(peakActivations(hint));
            for (const DispatchRule rule : kRules) {
                const CostModel costs = disturbed(hint, someCosts(), random);
                expectEndsWithinItsLimit(hint, costs, {rule, {}});
                expectEndsWithinItsLimit(hint, costs, {rule, peak + 1});
                expectEndsWithinItsLimit(hint, costs, {rule, 10 * peak});
            }
        }
    }
    EXPECT_GT(orders, 500);
}

TEST(Dispatch, ListRuleKeepsTheOrder) {
    std::mt19937 random(3);
    for (const Schedule& hint : allOrders({2, 4}, {4, 8}, 1)) {
        const auto order = dispatched(hint, disturbed(hint, someCosts(), random), {DispatchRule::List, {}});
        ASSERT_TRUE(order.ok());
        EXPECT_EQ(order.value().ranks, hint.ranks);
        EXPECT_EQ(order.value().name, hint.name);
    }
}

/// The dispatcher keeps its own clock. The simulator, which knows nothing of readiness, must agree: no op of the chosen
/// order starts while an op that the rule prefers was ready and fitted.
TEST(Dispatch, RefusesUpdatesWithinAStep) {
    const auto hint = makeSchedule({"pipedream-2bw", "", 4, 8, 1});
    ASSERT_TRUE(hint.ok());
    const auto order = dispatched(hint.value(), someCosts(), {DispatchRule::Ready, 1000});
    ASSERT_FALSE(order.ok());
    EXPECT_NE(order.error().text().find("such as 1f1b"), std::string::npos) << order.error().text();
}

TEST(Dispatch, NoRankIdlesWhileAnOpIsReady) {
    std::mt19937 random(11);
    for (const Schedule& hint : allOrders({4}, {8}, 1)) {
        const CostModel costs = disturbed(hint, someCosts(), random);
        const auto order = dispatched(hint, costs, {DispatchRule::Ready, 1000});
        ASSERT_TRUE(order.ok()) << order.error().text();
        const auto step = simulate(order.value(), costs);
        ASSERT_TRUE(step.ok());
        const OpGraph graph(order.value());
        if (graph.partner(0) != kNoOp) continue;
        std::vector<TimeNs> end(static_cast<std::size_t>(graph.size()));
        std::vector<TimeNs> begin(end.size());
        for (int r = 0; r < hint.pp; ++r) {
            for (std::size_t i = 0; i < step.value().ranks[Rank{r}.index()].size(); ++i) {
                const auto at = static_cast<std::size_t>(graph.firstOf(Rank{r})) + i;
                begin[at] = step.value().ranks[Rank{r}.index()][i].start;
                end[at] = step.value().ranks[Rank{r}.index()][i].end;
            }
        }
        const auto at = [](OpIndex op) { return static_cast<std::size_t>(op); };
        const CostTable table(order.value(), costs);
        bool pairs = false;
        for (OpIndex op = 0; op < graph.size(); ++op)
            pairs = pairs || graph.partner(op) != kNoOp;
        if (pairs) continue;
        // With memory for everything, an op is ready once its inputs are there. Before any op starts after a gap, all
        // later ops of the rank must have been unready during that gap.
        for (OpIndex op = 0; op < graph.size(); ++op) {
            const Producers& from = graph.producers(op);
            TimeNs ready{0};
            if (from.own >= 0) ready = end[at(from.own)];
            if (from.stage >= 0) {
                Transfer transfer;
                TimeNs there = end[at(from.stage)];
                if (table.leaves(graph, from.stage, transfer))
                    there += table.transfer(graph.rank(from.stage), transfer);
                ready = std::max(ready, there);
            }
            const OpIndex first = graph.firstOf(graph.rank(op));
            for (OpIndex earlier = first; earlier <= op; ++earlier) {
                const TimeNs free = earlier == first ? TimeNs{0} : end[at(earlier - 1)];
                if (begin[at(earlier)] == free) continue;
                EXPECT_GE(ready, begin[at(earlier)])
                    << scheduleTitle(hint) << ": rank " << graph.rank(op).value << " waits before "
                    << opName(graph.op(earlier)) << " although " << opName(graph.op(op)) << " is ready";
            }
        }
    }
}

TEST(Dispatch, WithoutDisturbanceOneForwardOneBackwardStaysAsItIs) {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{1}, TimeNs{2}, {}, {}).value();
    for (int p = 1; p <= 8; ++p) {
        for (int m = 1; m <= 16; ++m) {
            const Schedule hint = makeSchedule({"1f1b", "", p, m, 1}).value();
            const auto order = dispatched(hint, costs, {DispatchRule::Backward, {}});
            ASSERT_TRUE(order.ok());
            // The first and the last rank have no choice: one has no free memory, the other nothing that is ready.
            EXPECT_EQ(simulate(order.value(), costs).value().wall(), simulate(hint, costs).value().wall())
                << "p = " << p << ", m = " << m;
        }
    }
}

TEST(Dispatch, RejectsALimitThatTheListExceeds) {
    const Schedule hint = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    const auto order = dispatched(hint, someCosts(), {DispatchRule::Ready, 3});
    ASSERT_FALSE(order.ok());
    EXPECT_EQ(order.error().kind, ErrorKind::Usage);
    CostModel blocking = someCosts();
    blocking.transfers.sends = SendMode::Batched;
    EXPECT_FALSE(dispatched(hint, blocking, {DispatchRule::Ready, {}}).ok());
}

TEST(Dispatch, ReportsAListThatDeadlocks) {
    Schedule hint = makeSchedule({"1f1b", "", 2, 1, 1}).value();
    std::swap(hint.ranks[1][0], hint.ranks[1][1]);
    const auto order = dispatched(hint, someCosts(), {DispatchRule::List, {}});
    ASSERT_FALSE(order.ok());
    EXPECT_EQ(order.error().kind, ErrorKind::Input);
}

/// Rank 1 is slow to receive micro-batch 0. Its list makes it wait; by readiness it runs micro-batch 1 first.
TEST(Dispatch, RunsAroundALateInput) {
    Schedule hint = makeSchedule({"fthenb", "", 2, 2, 1}).value();
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{10}, TimeNs{10}, {}, {}).value();
    auto late = std::make_shared<MeasuredTimes>();
    late->setTransfer(Payload::Activation, Microbatch{0}, Stage{1}, 0, TimeNs{100});
    costs.measured = late;
    const auto order = dispatched(hint, costs, {DispatchRule::Ready, {}});
    ASSERT_TRUE(order.ok());
    EXPECT_EQ(opName(order.value().ranks[1][0]), "F1.0");
    EXPECT_EQ(order.value().name, "custom");
    EXPECT_EQ(simulate(hint, costs).value().wall(), TimeNs{160});          // F0 at 110, F1, B0, B1, B1 on rank 0
    EXPECT_LT(simulate(order.value(), costs).value().wall(), TimeNs{160}); // F1 and B1 fit into the wait
}

} // namespace
} // namespace bubblescope
