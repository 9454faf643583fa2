// Ranks that choose their ops by readiness: the reference's weights for every family, and orders within the limit.

#include "core/families/no_flush.h"
#include "core/families/registry.h"
#include "core/graph/validate.h"
#include "runtime/faulty_times.h"
#include "tests/unit/runtime/engine_run.h"
#include "tests/unit/runtime/trained_run.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bubblescope::runtime {
namespace {

std::vector<Fault> disturbances(const std::vector<std::string>& texts) {
    std::vector<Fault> faults;
    for (const std::string& text : texts)
        faults.push_back(parseFault(text).value());
    return faults;
}

Schedule made(const std::string& family, const std::string& flavor, int p, int m, int v) {
    return makeSchedule({family, flavor, p, m, v}).value();
}

RunConfig configOf(Schedule schedule, DispatchRule rule) {
    RunConfig config = test::smallRun(std::move(schedule));
    config.dispatch.rule = rule;
    return config;
}

void expectDispatchedWeights(const RunConfig& config) {
    SCOPED_TRACE(scheduleTitle(config.schedule));
    test::expectTheReferencesWeights(config);
}

TEST(ReadyRun, TrainsToTheReferencesWeightsWithEveryFamilyAsHint) {
    int orders = 0;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (trainsWithDelay(family.name)) continue; // ranks keep to their lists
        for (const std::string_view flavor : flavorsOf(family)) {
            for (const int v : {1, 2}) {
                ScheduleSpec spec{std::string(family.name), std::string(flavor), 4, 12, v};
                spec.sequence_slices = 2;
                const auto schedule = makeSchedule(spec);
                if (!schedule.ok() || schedule.value().vpp != v || !validate(schedule.value()).empty()) continue;
                const auto rule = static_cast<DispatchRule>(1 + orders++ % 3);
                RunConfig config = configOf(schedule.value(), rule);
                config.dispatch.in_flight = std::ranges::max(peakActivations(config.schedule)) + orders % 2;
                expectDispatchedWeights(config);
            }
        }
    }
    EXPECT_GT(orders, 30);
}

TEST(ReadyRun, TrainsReplicasToTheReferencesWeights) {
    RunConfig config = configOf(made("1f1b", "", 3, 4, 1), DispatchRule::Ready);
    config.replicas = 2;
    expectDispatchedWeights(config);
}

/// The ops of a step as the ranks recorded them.
Schedule recordedOrder(const test::EngineRun& run, int step) {
    Schedule order = run.schedule;
    for (std::size_t r = 0; r < order.ranks.size(); ++r) {
        order.ranks[r].clear();
        for (const profiler::SliceRecord& record : run.records[r]) {
            if (record.step == step && record.category == profiler::SliceRecord::Category::Op &&
                record.kind != OpKind::Optimizer)
                order.ranks[r].push_back(record.asOp().op);
        }
    }
    return order;
}

TEST(ReadyRun, RunsAroundALateLinkWithinItsLimit) {
    test::EngineRun run(made("interleaved", "", 4, 8, 2), test::someTimes(TimeNs{1'000'000}));
    run.faults = disturbances({"link:1>2,latency=40ms", "jitter:sigma=20%"});
    run.dispatch.rule = DispatchRule::Ready;
    const auto result = run.run();
    ASSERT_TRUE(result.ok()) << result.error().text();
    for (int step = 0; step < run.steps; ++step) {
        ValidateOptions options;
        options.memory_limit = inFlightLimit(run.schedule, run.dispatch).value();
        const auto problems = validate(recordedOrder(run, step), options);
        EXPECT_TRUE(problems.empty()) << problems.front().message.text();
    }
}

/// No choice here depends on how late the host is, so all of them are those of the simulation.
TEST(ReadyRun, ChoosesAsTheSimulationDoes) {
    Schedule hint = made("fthenb", "", 2, 2, 1);
    test::EngineRun run(hint, test::someTimes(TimeNs{0}));
    run.faults = disturbances({"op:F1,rank=0,factor=3"});
    run.dispatch.rule = DispatchRule::Backward;
    const CostModel costs = faultyCosts(hint, run.times, run.faults, 0).value();
    const Schedule expected = dispatched(hint, costs, run.dispatch).value();
    EXPECT_EQ(opName(expected.ranks[1][1]), "B0.0"); // F1 is late
    ASSERT_TRUE(run.run().ok());
    EXPECT_EQ(recordedOrder(run, 0).ranks, expected.ranks);
}

TEST(FaultyCosts, AreThoseOfAPacedRun) {
    for (const char* const family : {"1f1b", "zb-h1", "interleaved", "1f1b-overlap"}) {
        SCOPED_TRACE(family);
        test::EngineRun run(made(family, "", 4, 8, family == std::string("interleaved") ? 2 : 1),
                            test::someTimes(TimeNs{1'500'000}));
        run.faults = disturbances({"slow:rank=2,factor=1.5", "link:0>1,latency=4ms", "jitter:rank=1,sigma=15%",
                                   "op:B3,rank=3,add=7ms,step=0"});
        run.steps = 1;
        ASSERT_TRUE(run.run().ok());
        const CostModel costs = faultyCosts(run.schedule, run.times, run.faults, 0).value();
        const StepTimeline step = simulate(run.schedule, costs).value();
        const TimeNs origin = test::beginOf(run, 0);
        for (std::size_t r = 0; r < run.records.size(); ++r) {
            std::vector<test::OpRow> ops;
            for (const profiler::SliceRecord& record : run.records[r]) {
                if (record.category == profiler::SliceRecord::Category::Op && record.kind != OpKind::Optimizer)
                    ops.emplace_back(record.asOp().op, (record.start - origin).count(), (record.end - origin).count());
            }
            std::vector<test::OpRow> expected;
            for (const TimelineOp& op : step.ranks[r])
                expected.emplace_back(op.op, op.start.count(), op.end.count());
            EXPECT_EQ(ops, expected) << "rank " << r;
        }
    }
}

TEST(FaultyCosts, RejectsFaultsThatAreNotTimes) {
    const Schedule schedule = made("1f1b", "", 2, 4, 1);
    const auto costs = faultyCosts(schedule, test::someTimes(TimeNs{0}), disturbances({"stall:0>1,for=5ms"}), 0);
    ASSERT_FALSE(costs.ok());
    EXPECT_EQ(costs.error().kind, ErrorKind::Usage);
}

TEST(ReadyRun, RejectsWhatNeedsAFixedOrder) {
    RunConfig config = configOf(made("1f1b", "", 2, 4, 1), DispatchRule::Ready);
    config.tensor_ranks = 2;
    config.model.heads = 2;
    EXPECT_TRUE(test::isRejected(config));
    config.tensor_ranks = 1;
    config.dispatch.in_flight = 1;
    EXPECT_TRUE(test::isRejected(config));
}

} // namespace
} // namespace bubblescope::runtime
