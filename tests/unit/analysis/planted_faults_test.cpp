// A fault in a run of a few ranks or many is named first, costs what the same run without it saves, and has no company.

#include "core/analysis/steps/run_analyzer.h"
#include "tests/support/jittered_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

namespace bubblescope {
namespace {

constexpr unsigned kSeed = 11;

test::JitteredRun cleanRun(const char* family, int pp) {
    test::JitteredRun run;
    const std::string_view name(family);
    run.spec = {family, "", pp, 2 * pp, name == "interleaved" || name == "zb-v" ? 2 : 1};
    run.comm = TimeNs{20'000};
    run.steps = 8;
    run.op_spread = 0.002;
    run.step_spread = 0.001;
    return run;
}

std::string text(const std::vector<Anomaly>& found) {
    std::string all;
    for (const Anomaly& one : found)
        all += fmt::format("\n  {} {}: {}", anomalyKindName(one.kind), formatTime(one.cost), one.message.text());
    return all;
}

bool isOfStage(const Anomaly& anomaly) {
    return anomaly.kind == AnomalyKind::SlowStage || anomaly.kind == AnomalyKind::LastStageImbalance;
}

class PlantedFaults : public testing::TestWithParam<std::tuple<const char*, int>> {
protected:
    /// Runs with and without a fault, of the same noise; the fault's finding must be the only one that costs time.
    template <class Blames>
    void expectNamedFirst(const test::JitteredRun& faulty, const std::string& fault, const Blames& blames) {
        SCOPED_TRACE(fault);
        const auto& [family, pp] = GetParam();
        const bubblescope::Run with = test::makeJitteredRun(faulty, kSeed);
        const bubblescope::Run without = test::makeJitteredRun(cleanRun(family, pp), kSeed);
        const RunReport report = analyzeRun(with);
        ASSERT_FALSE(report.anomalies.empty());
        const Anomaly& first = report.anomalies.front();
        EXPECT_TRUE(blames(first)) << text(report.anomalies);
        for (const Anomaly& other : report.anomalies)
            EXPECT_TRUE(&other == &first || other.cost == TimeNs{0}) << text(report.anomalies);
        const std::size_t typical = report.typicalStep();
        const auto wall = static_cast<double>(with.steps[typical].wall().count());
        const auto saved = wall - static_cast<double>(without.steps[typical].wall().count());
        EXPECT_NEAR(static_cast<double>(first.cost.count()), saved, 0.02 * saved + 0.001 * wall)
            << text(report.anomalies);
        for (std::size_t s = 0; s < report.steps.size(); ++s) {
            const StepAnalysis& step = report.steps[s];
            EXPECT_LE(report.accounts[s].ideal, step.wall);
            EXPECT_LE(step.form ? step.form->makespan : step.at_least.value_or(TimeNs{0}), step.wall);
        }
    }
};

TEST_P(PlantedFaults, CleanRunsHaveNone) {
    const auto& [family, pp] = GetParam();
    for (unsigned seed = 1; seed <= 6; ++seed) {
        const RunReport report = analyzeRun(test::makeJitteredRun(cleanRun(family, pp), seed));
        EXPECT_TRUE(report.anomalies.empty()) << text(report.anomalies);
    }
}

TEST_P(PlantedFaults, ASlowRankIsNamed) {
    const auto& [family, pp] = GetParam();
    for (const double factor : {1.3, 1.4}) {
        for (const int slow : {0, pp / 2, pp - 1}) {
            test::JitteredRun run = cleanRun(family, pp);
            run.op_factor = [=](int, Rank rank, const Op&) { return rank == Rank{slow} ? factor : 1.0; };
            expectNamedFirst(run, fmt::format("rank {} slower {}", slow, factor), [&](const Anomaly& first) {
                return (run.spec.vpp > 1 ? first.kind == AnomalyKind::Straggler : isOfStage(first)) &&
                       first.rank == Rank{slow};
            });
        }
    }
}

TEST_P(PlantedFaults, ASlowLastStageIsNamed) {
    const auto& [family, pp] = GetParam();
    test::JitteredRun run = cleanRun(family, pp);
    const Schedule schedule = makeSchedule(run.spec).value();
    const Stage last{schedule.stages() - 1};
    run.op_factor = [&](int, Rank rank, const Op& op) { return schedule.stageOf(rank, op.chunk) == last ? 1.6 : 1.0; };
    expectNamedFirst(run, "last stage", [&](const Anomaly& first) {
        return first.kind == AnomalyKind::LastStageImbalance && schedule.stageOf(*first.rank, *first.chunk) == last;
    });
}

/// Forward and backward in other proportions, and as much work in all: there is nothing to move.
TEST(TwoStages, WithEqualWorkBlameNone) {
    test::JitteredRun run = cleanRun("gpipe", 2);
    run.op_factor = [](int, Rank rank, const Op& op) {
        const double less = op.kind == OpKind::Forward ? 0.8 : 1.1;
        const double more = op.kind == OpKind::Forward ? 1.2 : 0.9;
        return rank == Rank{0} ? less : more;
    };
    for (const Anomaly& found : analyzeRun(test::makeJitteredRun(run, kSeed)).anomalies)
        EXPECT_FALSE(isOfStage(found) || found.kind == AnomalyKind::Straggler) << found.message.text();
}

TEST_P(PlantedFaults, ASlowLinkIsNamedWithItsDirection) {
    const auto& [family, pp] = GetParam();
    for (const auto& [slow_from, slow_to] : {std::pair(0, 1), std::pair(pp - 1, pp - 2)}) {
        const Rank sender{slow_from};
        const Rank receiver{slow_to};
        test::JitteredRun run = cleanRun(family, pp);
        run.link_factor = [=](int, Rank from, Rank to) { return from == sender && to == receiver ? 150.0 : 1.0; };
        expectNamedFirst(run, fmt::format("link {} to {}", slow_from, slow_to), [&](const Anomaly& first) {
            return first.kind == AnomalyKind::SlowLink && first.rank == sender && first.peer == receiver;
        });
    }
}

TEST_P(PlantedFaults, ARankThatBecomesSlowIsNamedWithItsStep) {
    const auto& [family, pp] = GetParam();
    test::JitteredRun run = cleanRun(family, pp);
    run.steps = 16;
    run.op_factor = [](int step, Rank rank, const Op&) { return rank == Rank{1} && step >= 10 ? 1.4 : 1.0; };
    const RunReport report = analyzeRun(test::makeJitteredRun(run, kSeed));
    ASSERT_FALSE(report.anomalies.empty());
    const Anomaly& first = report.anomalies.front();
    EXPECT_EQ(first.kind, AnomalyKind::Straggler) << text(report.anomalies);
    EXPECT_EQ(first.rank, Rank{1}) << text(report.anomalies);
    EXPECT_EQ(first.step, 10) << text(report.anomalies);
}

TEST_P(PlantedFaults, ARankThatBecomesFastBlamesNobody) {
    const auto& [family, pp] = GetParam();
    test::JitteredRun run = cleanRun(family, pp);
    run.steps = 16;
    run.op_factor = [](int step, Rank rank, const Op&) { return rank == Rank{1} && step >= 10 ? 0.8 : 1.0; };
    for (const Anomaly& found : analyzeRun(test::makeJitteredRun(run, kSeed)).anomalies)
        EXPECT_FALSE(found.kind == AnomalyKind::Straggler && found.step) << found.message.text();
}

INSTANTIATE_TEST_SUITE_P(Families, PlantedFaults,
                         testing::Combine(testing::Values("1f1b", "gpipe", "interleaved", "zb-h1", "zb-v"),
                                          testing::Values(2, 3, 4, 8)),
                         [](const auto& info) {
                             std::string name = fmt::format("{}_p{}", std::get<0>(info.param), std::get<1>(info.param));
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

} // namespace
} // namespace bubblescope
