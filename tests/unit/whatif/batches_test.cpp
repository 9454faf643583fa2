#include "core/analysis/anomalies/samples.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/analysis/whatif/scenario.h"
#include "core/timeline/transfer_batches.h"
#include "core/timeline/transfers.h"
#include "tests/support/batched_step.h"
#include "tests/unit/whatif/runs.h"

#include <fmt/format.h>

#include <map>
#include <random>

// Runs whose ranks wait for a send and a receive together, with a slow link.
namespace bubblescope::test {
namespace {

struct SlowLink {
    int from = 0;
    int to = 1;
};

enum class Framework { Megatron, OwnEnds, PyTorch };

struct Case {
    int pp;
    Framework framework;
};

/// A run of 1F1B; equal seeds give equal times of ops.
StepTimeline batchedStep(const Case& what, unsigned seed, const std::vector<SlowLink>& slow) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<std::int64_t> jitter(-300'000, 300'000);
    std::map<std::pair<Rank, std::pair<OpKind, Microbatch>>, TimeNs> times;
    const Schedule order = scheduleOf("1f1b", what.pp, 8);
    for (std::size_t r = 0; r < order.ranks.size(); ++r) {
        for (const Op& op : order.ranks[r]) {
            times[{Rank{r}, {op.kind, op.microbatch}}] =
                (op.kind == OpKind::Forward ? 16ms : 33ms) + TimeNs{jitter(random)};
        }
    }
    BatchedTransfers transfers;
    transfers.time = [&](Rank from, Rank to) -> TimeNs {
        const bool is_slow = std::ranges::any_of(
            slow, [&](const SlowLink& link) { return from == Rank{link.from} && to == Rank{link.to}; });
        return is_slow ? 15ms : 120us;
    };
    transfers.waits_for_single_sends = what.framework != Framework::PyTorch;
    transfers.own_ends = what.framework != Framework::Megatron;
    return BatchedRun(
               order,
               [&](Rank rank, const Op& op) {
                   return times.at({rank, {op.kind, op.microbatch}});
               },
               transfers)
        .run();
}

class Batches : public testing::TestWithParam<Case> {
protected:
    /// Calls test(link) for each direction of each link.
    template <class Test>
    void forEachLink(Test test) const {
        for (int r = 0; r + 1 < GetParam().pp; ++r) {
            for (const SlowLink& link : {SlowLink{r, r + 1}, SlowLink{r + 1, r}}) {
                SCOPED_TRACE(fmt::format("{}>{}", link.from, link.to));
                test(link);
            }
        }
    }
    [[nodiscard]] StepTimeline stepOf(const std::vector<SlowLink>& slow) const {
        return batchedStep(GetParam(), 1, slow);
    }
    [[nodiscard]] bubblescope::Run runOf(const std::vector<SlowLink>& slow) const {
        bubblescope::Run run;
        run.files = {"simulated"};
        run.schedule = scheduleOf("1f1b", GetParam().pp, 8);
        TimeNs begin{0};
        for (int i = 0; i < 6; ++i) {
            StepTimeline step = batchedStep(GetParam(), static_cast<unsigned>(i), slow);
            step.index = i;
            moveTo(step, begin);
            begin = step.end + 1ms;
            run.steps.push_back(std::move(step));
        }
        return run;
    }
};

TEST_P(Batches, TransfersEndByThemselves) {
    forEachLink([&](const SlowLink& slow) {
        const StepTimeline step = stepOf({slow});
        EXPECT_FALSE(TransferBatches(step).empty());
        const TransferSamples samples(std::span(&step, 1));
        for (const auto& [link, transfers] : samples.links) {
            const bool is_slow = link.from == Rank{slow.from} && link.to == Rank{slow.to};
            for (const Transferred& transfer : transfers)
                EXPECT_NEAR(transfer.time, is_slow ? 15e6 : 120e3, 2) << link.from.value << ">" << link.to.value;
        }
        std::map<int, int> by_rank;
        eachTimedTransfer(step, [&](const TimedTransfer& transfer) { ++by_rank[transfer.to.value]; });
        for (const OpTransfer& transfer : transfersBetweenRanks(step)) {
            const bool is_slow = transfer.sent.rank == Rank{slow.from} && transfer.received.rank == Rank{slow.to};
            const TimeNs posted = std::max(transfer.sent.time, transfer.producer.in(step).end);
            EXPECT_GE(transfer.received.time - posted, is_slow ? 15ms : 120us);
            --by_rank[transfer.received.rank.value];
        }
        for (const auto& [rank, difference] : by_rank)
            EXPECT_EQ(difference, 0);
    });
}

TEST_P(Batches, ReplayIsTheStep) {
    forEachLink([&](const SlowLink& slow) {
        const StepTimeline step = stepOf({slow});
        const StepGraph graph(step);
        EXPECT_FALSE(graph.holds.empty());
        EXPECT_TRUE(std::ranges::all_of(graph.delay, [](TimeNs delay) { return delay >= TimeNs{0}; }));
        std::vector<TimeNs> durations;
        for (UnitIndex unit = 0; unit < graph.size(); ++unit)
            durations.push_back(graph.duration(unit));
        StepReplay replay(graph);
        EXPECT_EQ(replay.run({durations, &graph.transfer, graph.delay, graph.holds}), step.wall());
        for (UnitIndex unit = 0; unit < graph.size(); ++unit)
            ASSERT_EQ(replay.end(unit), graph.end[StepGraph::at(unit)]);
    });
}

TEST_P(Batches, MendingALinkSavesWhatItCost) {
    forEachLink([&](const SlowLink& slow) {
        const auto run = runOf({slow});
        const auto mended = runOf({});
        const auto model = runModel(run);
        ASSERT_TRUE(model.ok());
        const auto predicted = [&](const std::string& change) {
            const auto made = predict(model.value(), run.schedule, parseScenario(std::vector{change}).value());
            EXPECT_TRUE(made.ok()) << made.error().text();
            return made.value();
        };
        const TimeNs truth = runModel(mended).value().step_time;
        const Prediction mend = predicted(fmt::format("link:{}>{}=usual", slow.from, slow.to));
        EXPECT_NEAR(fractionOf(mend.predicted(), truth), 1, 0.01) << formatTime(model.value().step_time);
        const Prediction other = predicted(fmt::format("link:{}>{}=usual", slow.to, slow.from));
        EXPECT_GT(other.relativeChange(), -0.002);
        EXPECT_LT(model.value().check.error(), 0.01);
    });
}

TEST_P(Batches, OnlyTheSlowLinkIsBlamed) {
    forEachLink([&](const SlowLink& slow) {
        const auto run = runOf({slow});
        const RunReport report = analyzeRun(run);
        int links = 0;
        for (const Anomaly& anomaly : report.anomalies) {
            if (anomaly.kind != AnomalyKind::SlowLink) continue;
            ++links;
            EXPECT_EQ(anomaly.rank, Rank{slow.from});
            EXPECT_EQ(anomaly.peer, Rank{slow.to});
        }
        EXPECT_EQ(links, 1);
        const StepDiagnosis diagnosis = report.diagnosesOf(run).of(1);
        ASSERT_FALSE(diagnosis.attribution.ranking.empty());
        for (const RootCause& root_cause : diagnosis.attribution.ranking) {
            if (root_cause.kind != RootCauseKind::SlowLink) continue;
            const bool planted = root_cause.rank == Rank{slow.from} && root_cause.peer == Rank{slow.to};
            EXPECT_EQ(planted, &root_cause == &diagnosis.attribution.ranking.front());
            EXPECT_TRUE(planted || root_cause.waits < 1ms) << root_cause.rank.value << ">" << root_cause.peer->value;
        }
    });
}

TEST_P(Batches, BothDirectionsMayBeSlow) {
    const auto run = runOf({{0, 1}, {1, 0}});
    const auto model = runModel(run);
    ASSERT_TRUE(model.ok());
    const auto mend =
        predict(model.value(), run.schedule, parseScenario(std::vector<std::string>{"link:0-1=120us"}).value());
    ASSERT_TRUE(mend.ok());
    EXPECT_NEAR(fractionOf(mend.value().predicted(), runModel(runOf({})).value().step_time), 1, 0.01);
}

std::string nameOf(const testing::TestParamInfo<Case>& made) {
    constexpr std::array kNames{"Megatron", "OwnEnds", "PyTorch"};
    return kNames[static_cast<std::size_t>(made.param.framework)] + std::to_string(made.param.pp);
}
INSTANTIATE_TEST_SUITE_P(Pipelines, Batches,
                         testing::Values(Case{2, Framework::Megatron}, Case{4, Framework::Megatron},
                                         Case{2, Framework::OwnEnds}, Case{4, Framework::OwnEnds},
                                         Case{2, Framework::PyTorch}, Case{4, Framework::PyTorch}),
                         nameOf);

// Sends and receives of simulations often begin and end at the same times.
TEST(NoBatches, AreFoundInRecordsOfTransfersThemselves) {
    for (const char* name : {"1f1b", "fthenb", "zb-h1", "interleaved"}) {
        const int vpp = std::string(name) == "interleaved" ? 2 : 1;
        const StepTimeline step = simulatedRun(scheduleOf(name, 4, 8, vpp), {}, 100us).steps[0];
        EXPECT_TRUE(TransferBatches(step).empty()) << name;
    }
    CostModel costs{unitTimes(), {}, {}, {}, 100us, {}, {}};
    costs.transfers.sends = SendMode::Paired;
    EXPECT_TRUE(TransferBatches(simulate(scheduleOf("1f1b", 4, 8), costs).value()).empty());
}

} // namespace
} // namespace bubblescope::test
