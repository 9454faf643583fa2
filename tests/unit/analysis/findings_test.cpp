// One finding for all cases of a kind at a place, and the kinds that concern data, communication and warm-up: each
// with a planted case, and a similar one that must not be reported.

#include "core/analysis/anomalies/occurrence.h"
#include "core/analysis/steps/run_analyzer.h"
#include "tests/unit/analysis/simulated_run.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace bubblescope {
namespace {

using namespace test;

constexpr int kSteps = 20;

double evidenceOf(const Anomaly& anomaly, std::string_view name) {
    for (const auto& [key, value] : anomaly.evidence) {
        if (key == name) return value;
    }
    ADD_FAILURE() << "no " << name;
    return 0;
}

/// Ops with 1 % of noise, and those of `slow` three times as long.
bubblescope::Run withSlowOps(const std::set<std::pair<int, int>>& slow_steps_and_ranks) {
    return makeRunOf(k1F1B, kSteps, [=](int step) -> TimeOf {
        return [=](Rank rank, const Op& op) {
            std::mt19937_64 random(
                static_cast<std::uint64_t>(step * 1000 + rank.value * 100 + op.microbatch.value * 2) +
                (op.kind == OpKind::Forward ? 0U : 1U));
            const double noise = std::normal_distribution<double>(1, 0.01)(random);
            const bool slow = op.kind == OpKind::Backward && op.microbatch.value == 3 &&
                              slow_steps_and_ranks.contains({step, rank.value});
            return slow ? 3 : noise;
        };
    });
}

TEST(Findings, AllSlowOpsOfARankAreOne) {
    const auto found =
        ofKind(analyzeRun(withSlowOps({{4, 2}, {7, 2}, {9, 2}, {13, 2}, {16, 2}, {18, 2}})), AnomalyKind::SlowOp);
    ASSERT_EQ(found.size(), 1U);
    const Anomaly& one = found.front();
    EXPECT_EQ(one.rank, Rank{2});
    EXPECT_EQ(one.seen.cases, 6);
    EXPECT_EQ(one.seen.steps, 6);
    EXPECT_EQ(one.seen.of_steps, kSteps);
    EXPECT_EQ(one.seen.first, 4);
    EXPECT_EQ(one.seen.last, 18);
    EXPECT_EQ(one.seen.latest, 0b100101000100101U) << "18, 16, 13, 9, 7 and 4";
    EXPECT_EQ(one.seen.since_first, 16);
    EXPECT_TRUE(one.seen.goes_on);
    EXPECT_EQ(occurrenceText(one.seen).text().substr(0, 56),
              "in 6 of the last 16 steps, since step 4, and continuing;");
    EXPECT_GT(one.cost, TimeNs{0});
    EXPECT_NEAR(static_cast<double>(one.seen.total.count()), 6 * static_cast<double>(one.cost.count()),
                2 * static_cast<double>(one.cost.count()));
    EXPECT_EQ(one.meanCost(), one.seen.total / kSteps);
    ASSERT_TRUE(one.op && one.step);
    EXPECT_EQ(one.op, parseOpName("B3.0")) << "the worst is one of them";
}

TEST(Findings, WhatEndedDoesNotGoOn) {
    const auto found = ofKind(analyzeRun(withSlowOps({{1, 2}, {3, 2}, {4, 2}})), AnomalyKind::SlowOp);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].seen.steps, 3);
    EXPECT_FALSE(found[0].seen.goes_on);
    EXPECT_NE(occurrenceText(found[0].seen).text().find("not since"), std::string::npos);
}

TEST(Findings, SlowOpsOnAllRanksBlameNone) {
    std::set<std::pair<int, int>> everywhere;
    for (int step = 0; step < kSteps; step += 2)
        everywhere.insert({step, step / 2 % 4});
    const auto all = ofKind(analyzeRun(withSlowOps(everywhere)), AnomalyKind::SlowOp);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_FALSE(all[0].rank);
    EXPECT_EQ(evidenceOf(all[0], "ranks"), 4);
    EXPECT_EQ(all[0].seen.steps, 10);
    // Near it: as many, but most of them on one rank.
    std::set<std::pair<int, int>> uneven{{2, 0}, {4, 1}, {6, 2}};
    for (int step = 8; step < kSteps; ++step)
        uneven.insert({step, 3});
    const auto found = ofKind(analyzeRun(withSlowOps(uneven)), AnomalyKind::SlowOp);
    ASSERT_EQ(found.size(), 4U);
    EXPECT_EQ(found[0].rank, Rank{3}) << "what costs the run most comes first";
}

TEST(Findings, AStragglerInOneReplicaOfFourComesFirst) {
    const auto usual = [](int) -> TimeOf { return [](Rank, const Op&) { return 1.0; }; };
    bubblescope::Run run = makeRunOf(k1F1B, 6, usual);
    for (int replica = 1; replica < 4; ++replica) {
        addReplica(run,
                   makeRunOf(k1F1B, 6,
                             [&](int) -> TimeOf {
                                 return
                                     [=](Rank rank, const Op&) { return replica == 2 && rank == Rank{1} ? 1.4 : 1.0; };
                             }),
                   replica);
    }
    const RunReport report = analyzeRun(run);
    ASSERT_FALSE(report.anomalies.empty());
    const Anomaly& first = report.anomalies.front();
    EXPECT_EQ(first.kind, AnomalyKind::Straggler);
    EXPECT_EQ(first.replica, 2);
    EXPECT_EQ(first.rank, Rank{1});
    EXPECT_NE(first.message.text().find("rank 1 of replica 2"), std::string::npos);
    EXPECT_EQ(changeWithout(run.steps.front(), first), "worker:2.1=usual");
}

// ---- Data -------------------------------------------------------------------------------------------------

enum class Varies { WithMicrobatch, WithOp, WithRank, WithStep, WithPlace };

double level(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    return std::exp(std::normal_distribution<double>(0, 0.25)(random));
}

bubblescope::Run varying(Varies what) {
    return makeRunOf(k1F1B, kSteps, [=](int step) -> TimeOf {
        return [=](Rank rank, const Op& op) {
            const auto s = static_cast<std::uint64_t>(step) + 1;
            const auto r = static_cast<std::uint64_t>(rank.value) + 1;
            const auto m = static_cast<std::uint64_t>(op.microbatch.value) + 1;
            const std::uint64_t kind = op.kind == OpKind::Forward ? 1 : 2;
            switch (what) {
            case Varies::WithMicrobatch: return level(s * 1000 + m);
            case Varies::WithOp: return level(((s * 100 + r) * 100 + m) * 10 + kind);
            case Varies::WithRank: return level((s * 100 + r) * 100 + m);
            case Varies::WithStep: return level(s);
            case Varies::WithPlace: return level(m);
            }
            return 1.0;
        };
    });
}

TEST(Findings, UnequalMicrobatchesAreToldWithWhatTheyCost) {
    const bubblescope::Run run = varying(Varies::WithMicrobatch);
    const RunReport report = analyzeRun(run);
    ASSERT_FALSE(report.anomalies.empty());
    const Anomaly& first = report.anomalies.front();
    ASSERT_EQ(first.kind, AnomalyKind::DataImbalance);
    EXPECT_GT(evidenceOf(first, "forward_backward_correlation"), 0.99);
    EXPECT_TRUE(ofKind(report, AnomalyKind::SlowOp).empty()) << "they are explained";
    EXPECT_TRUE(ofKind(report, AnomalyKind::Straggler).empty());
    // The real saving of the steps with the same work in equal parts.
    std::vector<double> saved;
    for (int step = 0; step < kSteps; ++step) {
        double mean = 0;
        for (int m = 0; m < 8; ++m)
            mean += level((static_cast<std::uint64_t>(step) + 1) * 1000 + static_cast<std::uint64_t>(m) + 1) / 8;
        const bubblescope::Run equal =
            makeRunOf(k1F1B, 1, [&](int) -> TimeOf { return [=](Rank, const Op&) { return mean; }; });
        saved.push_back(static_cast<double>(
            (run.steps[static_cast<std::size_t>(step)].wall() - equal.steps.front().wall()).count()));
    }
    std::ranges::nth_element(saved, saved.begin() + kSteps / 2);
    EXPECT_NEAR(static_cast<double>(first.cost.count()), saved[kSteps / 2], 0.25 * saved[kSteps / 2]);
}

TEST(Findings, OtherUnequalTimesAreNoUnequalData) {
    for (const Varies what : {Varies::WithOp, Varies::WithRank, Varies::WithStep, Varies::WithPlace}) {
        EXPECT_TRUE(ofKind(analyzeRun(varying(what)), AnomalyKind::DataImbalance).empty()) << static_cast<int>(what);
    }
}

// ---- Communication ----------------------------------------------------------------------------------------

TEST(Findings, ExposedCommunicationIsToldByWhatItCosts) {
    const auto with = [](TimeNs comm) { return makeRun(k1F1B, 4, [=](int, CostModel& costs) { costs.comm = comm; }); };
    const bubblescope::Run run = with(kForward / 2);
    const auto found = ofKind(analyzeRun(run), AnomalyKind::ExposedCommunication);
    ASSERT_EQ(found.size(), 1U);
    const TimeNs saved = run.steps[0].wall() - with(TimeNs{0}).steps[0].wall();
    EXPECT_NEAR(static_cast<double>(found[0].cost.count()), static_cast<double>(saved.count()),
                0.01 * static_cast<double>(saved.count()));
    EXPECT_GT(evidenceOf(found[0], "activations_ns"), 0);
    EXPECT_GT(evidenceOf(found[0], "gradients_ns"), 0);
    EXPECT_EQ(changeWithout(run.steps[0], found[0]), "comm=0");
    EXPECT_TRUE(ofKind(analyzeRun(with(kForward / 20)), AnomalyKind::ExposedCommunication).empty());
}

TEST(Findings, OneSlowLinkIsNoExposedCommunicationBesides) {
    const auto run = makeRun(k1F1B, 4, [](int, CostModel& costs) {
        costs.transfers.links.push_back({Rank{2}, Rank{1}, kForward, {}});
    });
    const RunReport report = analyzeRun(run);
    EXPECT_EQ(ofKind(report, AnomalyKind::SlowLink).size(), 1U);
    EXPECT_TRUE(ofKind(report, AnomalyKind::ExposedCommunication).empty());
}

/// An optimizer op on all ranks, this long after the pipeline's end.
bubblescope::Run withOptimizerAfter(TimeNs gap) {
    bubblescope::Run run = makeRun(k1F1B, 4);
    TimeNs begin{0};
    for (StepTimeline& step : run.steps) {
        moveTo(step, begin);
        const TimeNs at = step.end + gap;
        for (auto& ops : step.ranks)
            ops.push_back({{OpKind::Optimizer, Microbatch{0}, Chunk{0}}, at, at + kForward / 10});
        begin = at + kForward;
    }
    return run;
}

TEST(Findings, GradientsExchangedBehindThePipeline) {
    const auto found = ofKind(analyzeRun(withOptimizerAfter(4 * kForward)), AnomalyKind::GradientExchange);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].cost, 4 * kForward);
    EXPECT_EQ(found[0].seen.steps, 4);
    EXPECT_TRUE(ofKind(analyzeRun(withOptimizerAfter(kForward)), AnomalyKind::GradientExchange).empty());
    EXPECT_TRUE(ofKind(analyzeRun(makeRun(k1F1B, 4)), AnomalyKind::GradientExchange).empty()) << "no optimizers";
}

/// Three replicas. Ops of rank 1 last alike in all of them, and longer than those of other ranks: in replica `busy`
/// they compute all that time, in the others they wait for a fifth of it.
bubblescope::Run withCollectives(std::optional<int> busy) {
    const auto slower = [](int) -> TimeOf { return [](Rank rank, const Op&) { return rank == Rank{1} ? 1.25 : 1.0; }; };
    bubblescope::Run run = makeRunOf(k1F1B, 4, slower);
    for (int replica = 1; replica < 3; ++replica)
        addReplica(run, makeRunOf(k1F1B, 4, slower), replica);
    for (StepTimeline& step : run.steps) {
        for (TimelineOp& op : step.ranks[1])
            step.setDetails(op, {TimeNs{0}, TimeNs{0}, step.replica == busy ? TimeNs{0} : op.duration() / 5});
    }
    return run;
}

TEST(Findings, ARankHiddenByACollective) {
    const RunReport report = analyzeRun(withCollectives(2));
    const auto found = ofKind(report, AnomalyKind::HiddenStraggler);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].rank, Rank{1});
    EXPECT_EQ(found[0].replica, 2);
    EXPECT_NEAR(evidenceOf(found[0], "ratio"), 1.25, 0.01);
    EXPECT_TRUE(ofKind(report, AnomalyKind::Straggler).empty()) << "its ops last no longer";
    EXPECT_TRUE(ofKind(analyzeRun(withCollectives({})), AnomalyKind::HiddenStraggler).empty());
}

TEST(Findings, ALongWarmUp) {
    const auto with = [](double first) {
        return makeRunOf(k1F1B, 8,
                         [=](int step) -> TimeOf { return [=](Rank, const Op&) { return step == 0 ? first : 1.0; }; });
    };
    const auto found = ofKind(analyzeRun(with(4)), AnomalyKind::LongWarmUp);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].severity, Severity::Notice);
    EXPECT_NEAR(evidenceOf(found[0], "extra_time_ns"), 3 * evidenceOf(found[0], "typical_ns"),
                0.1 * evidenceOf(found[0], "typical_ns"));
    EXPECT_TRUE(ofKind(analyzeRun(with(1.8)), AnomalyKind::LongWarmUp).empty()) << "not long";
}

// ---- Blame ------------------------------------------------------------------------------------------------

/// The warm-up's forwards but the first begin later by a forward's time on each rank: they have that slack.
void useSlack(StepTimeline& step) {
    for (std::size_t r = 0; r + 1 < step.ranks.size(); ++r) {
        for (std::size_t i = 1; step.ranks[r][i].op.kind == OpKind::Forward; ++i) {
            step.ranks[r][i].start += kForward;
            step.ranks[r][i].end += kForward;
        }
    }
}

TEST(Findings, AStepAsLongAsPlannedBlamesNobody) {
    bubblescope::Run run = makeRun(k1F1B, 3, [](int, CostModel& costs) { costs.comm = TimeNs{0}; });
    const TimeNs planned = run.steps[0].wall();
    for (StepTimeline& step : run.steps) {
        for (auto& spans : step.comm)
            spans.clear();
        useSlack(step);
        step.fitWindow();
        ASSERT_EQ(step.wall(), planned);
    }
    const auto diagnosed = [&run] { return StepDiagnoses(run, selectSteps(run.steps)).all(); };
    for (const StepDiagnosis& diagnosis : diagnosed()) {
        EXPECT_TRUE(diagnosis.attribution.ranking.empty());
        EXPECT_EQ(diagnosis.attribution.attributed, TimeNs{0});
        EXPECT_EQ(diagnosis.attribution.unexplained, TimeNs{0});
    }
    // Near it: the last rank begins its first backward late, which nothing can make up for.
    for (TimelineOp& op : run.steps[1].ranks[3]) {
        if (op.op == run.steps[1].ranks[3][0].op) continue;
        op.start += kForward;
        op.end += kForward;
    }
    for (std::size_t r = 0; r < 3; ++r) {
        bool after = false;
        for (TimelineOp& op : run.steps[1].ranks[r]) {
            after = after || op.op.kind == OpKind::Backward;
            op.start += after ? kForward : TimeNs{0};
            op.end += after ? kForward : TimeNs{0};
        }
    }
    run.steps[1].fitWindow();
    EXPECT_FALSE(diagnosed()[1].attribution.ranking.empty());
}

} // namespace
} // namespace bubblescope
