// Simulated runs, with noise on every op and transfer.

#include "core/analysis/steps/run_analyzer.h"
#include "tests/campaign/tally.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace bubblescope::campaign {
namespace {

TEST(Campaign, NoFalseAlarmInCleanRuns) {
    const int runs = full() ? 420 : 56;
    int alarms = 0;
    for (int i = 0; i < runs; ++i) {
        const auto specs = schedules();
        const ScheduleSpec& spec = specs[static_cast<std::size_t>(i) % specs.size()];
        Job job = makeJob(spec, FaultKind::None, 1000 + static_cast<std::uint64_t>(i));
        const auto diagnosed = diagnoseRun(job.run);
        ASSERT_TRUE(diagnosed.ok()) << diagnosed.error().text();
        alarms += diagnosed.value().report.anomalies.empty() ? 0 : 1;
        EXPECT_TRUE(diagnosed.value().report.anomalies.empty())
            << spec.name << " " << i << ": " << describe(job, diagnosed.value().report);
    }
    fmt::print("clean runs: {}, with a finding: {}\n", runs, alarms);
}

TEST(Campaign, FindsFaultsAndBlamesTheRightRankAndOp) {
    const int runs = full() ? 40 : 3; // of each schedule and kind
    Tally tally;
    std::uint64_t seed = 1;
    for (const ScheduleSpec& spec : schedules()) {
        for (int kind = 1; kind < kFaultKinds; ++kind) {
            for (int i = 0; i < runs; ++i, ++seed) {
                Job job = makeJob(spec, static_cast<FaultKind>(kind), seed);
                const auto diagnosed = diagnoseRun(job.run);
                ASSERT_TRUE(diagnosed.ok()) << diagnosed.error().text();
                tally.add(job, diagnosed.value().report, fmt::format("{} seed {}", spec.name, seed));
            }
        }
    }
    tally.print();
    EXPECT_GE(tally.told(), 0.99 * tally.due());
    EXPECT_GE(tally.blamedFirst(), 0.99 * tally.told());
    EXPECT_LE(tally.costError(), 0.05);
}

} // namespace
} // namespace bubblescope::campaign
