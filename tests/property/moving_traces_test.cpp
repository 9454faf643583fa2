// Traces of schedules in which stages move between ranks: simulated with messages and noise, written, read back.

#include "core/formats/perfetto/writer.h"
#include "core/graph/moving_orders.h"
#include "core/graph/moving_stages.h"
#include "core/graph/moving_weights.h"
#include "core/recognise/run.h"
#include "core/schedule/schedule.h"
#include "core/theory/analysis.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

struct Simulated {
    Schedule order;
    StepTimeline step;
};

constexpr TimeNs kForward{9'000};
constexpr TimeNs kBackward{20'000};
constexpr TimeNs kWeightGrad{9'000};

/// Every schedule at these sizes. `messages` is the time of weights and of everything else that is sent.
std::vector<Simulated> simulatedAt(int p, int m, TimeNs messages) {
    std::vector<Simulated> all;
    const auto stages = static_cast<std::size_t>(p);
    for (const WeightPath path : kWeightPaths) {
        for (int nodes = 1; nodes <= (path == WeightPath::Nodes ? p : 1); ++nodes) {
            if (p % nodes != 0) continue;
            const MovingWeights moving{path, p, m, nodes};
            const MovingWeightTimes times{
                std::vector(stages, kForward),    std::vector(stages, kBackward),  messages, messages,
                nodes > 1 ? messages : TimeNs{0}, std::vector(stages, kWeightGrad)};
            all.push_back({movingWeightsOrder(moving).value(), simulateMovingWeights(moving, times).value().step});
        }
    }
    for (const int chunks : {1, 2}) {
        const MovingStages moving{p, m, p * chunks, p * chunks};
        const MovingTimes times{kForward, kForward, messages, messages};
        all.push_back({movingOrder(moving).value(), simulateMoving(moving, times).value()});
    }
    for (Simulated& each : all)
        each.step.fitWindow(); // traces begin with the first op, not with the load of its weights
    return all;
}

/// Delays ops of each rank and lengthens every fifth, so that typical times stay the same.
void addNoise(StepTimeline& step, unsigned seed) {
    std::mt19937 random(seed);
    for (auto& ops : step.ranks) {
        TimeNs late{0};
        for (std::size_t i = 0; i < ops.size(); ++i) {
            late += TimeNs{static_cast<int>(random() % 50)};
            ops[i].start += late;
            if (i % 5 == 4) late += TimeNs{static_cast<int>(random() % 900)};
            ops[i].end += late;
        }
    }
    step.fitWindow();
}

bubblescope::Run readBack(const Simulated& ran, const RunInfo& info) {
    const test::ScratchFolder folder;
    const std::string file = folder.file("trace.pftrace");
    EXPECT_TRUE(perfetto::writeTimeline(file, info, {&ran.step, 1}).ok());
    JobControl control;
    Result<bubblescope::Run> run = loadRun({file}, control);
    EXPECT_TRUE(run.ok()) << run.error().text();
    return run.ok() ? std::move(run).value() : bubblescope::Run{};
}

void expectSame(const Simulated& ran) {
    SCOPED_TRACE(scheduleTitle(ran.order));
    const bubblescope::Run run = readBack(ran, RunInfo::of("simulate", ran.order));
    ASSERT_EQ(run.steps.size(), 1U);
    EXPECT_EQ(run.schedule.name, ran.order.name);
    EXPECT_EQ(run.schedule.flavor, ran.order.flavor);
    EXPECT_EQ(run.schedule.placement, Placement::Moving);
    EXPECT_EQ(run.schedule.ranks, ran.order.ranks);
    EXPECT_EQ(run.explanation.source, "stated");
    EXPECT_EQ(run.problems.size(), ran.order.pp > 1 ? 1U : 0U); // weights are not recorded

    const StepAnalysis before = analyzeStep(ran.step, ran.order);
    const StepAnalysis after = analyzeStep(run.steps.front(), run.schedule);
    EXPECT_EQ(after.wall, before.wall);
    EXPECT_DOUBLE_EQ(after.rates.over_makespan, before.rates.over_makespan);
    for (std::size_t r = 0; r < after.ranks.size(); ++r)
        EXPECT_EQ(after.ranks[r].bubble, before.ranks[r].bubble);
    ASSERT_EQ(after.form.has_value(), before.form.has_value());
    EXPECT_EQ(after.at_least, before.at_least);

    CostModel costs;
    costs.times = before.typical;
    const Result<TimeNs> form = movingMakespan(ran.order, costs);
    EXPECT_EQ(after.form.has_value(), form.ok()) << after.form_note;
    if (form.ok()) {
        EXPECT_EQ(after.form->makespan, form.value());
        EXPECT_LE(form.value(), after.wall);
    } else {
        EXPECT_FALSE(after.form_note.empty());
    }
}

TEST(MovingTraces, AreReadBackAsWritten) {
    for (int p = 1; p <= 6; ++p) {
        for (const int m : {1, p, p + 1, 2 * p, 3 * p + 1}) {
            for (const int messages : {0, 2'000}) {
                for (Simulated& ran : simulatedAt(p, m, TimeNs{messages})) {
                    expectSame(ran);
                    if (m % 2 == 0) continue; // noise on half of the sizes
                    addNoise(ran.step, static_cast<unsigned>(p * 100 + m));
                    expectSame(ran);
                }
            }
        }
    }
}

TEST(MovingTraces, HaveTheFormsOfTheirSimulation) {
    for (const Simulated& ran : simulatedAt(4, 8, TimeNs{0})) {
        if (ran.order.flavor == nodesFlavor(4)) continue; // the form needs several ranks per node
        const bubblescope::Run run = readBack(ran, RunInfo::of("simulate", ran.order));
        const StepAnalysis analysis = analyzeStep(run.steps.front(), run.schedule);
        ASSERT_TRUE(analysis.form) << orderName(ran.order) << ": " << analysis.form_note;
        EXPECT_EQ(analysis.form->makespan, analysis.wall) << orderName(ran.order);
    }
}

TEST(MovingTraces, ReportOpsThatNoRankRan) {
    Simulated ran = simulatedAt(3, 6, TimeNs{0}).front();
    ran.step.ranks[1].erase(ran.step.ranks[1].begin() + 2);
    const test::ScratchFolder folder;
    const std::string file = folder.file("trace.pftrace");
    ASSERT_TRUE(perfetto::writeTimeline(file, RunInfo::of("simulate", ran.order), {&ran.step, 1}).ok());
    JobControl control;
    const Result<bubblescope::Run> run = loadRun({file}, control);
    ASSERT_FALSE(run.ok());
    EXPECT_NE(run.error().message.find("no rank ran F1.2"), std::string::npos) << run.error().message;
}

TEST(MovingTraces, AreCustomIfTheOrderIsNotKnown) {
    Simulated ran = simulatedAt(3, 6, TimeNs{0}).front();
    auto& ops = ran.step.ranks[1];
    std::swap(ops[0].op, ops[1].op);
    const bubblescope::Run run = readBack(ran, RunInfo::of("simulate", ran.order));
    EXPECT_EQ(run.schedule.name, "custom");
    EXPECT_EQ(run.closest, ran.order.name);
    ASSERT_TRUE(run.departure);
    EXPECT_EQ(run.departure->rank, Rank{1});
}

/// The step as a trace without statements about the run: ops are named as in PyTorch's orders, such as 2F5.
Result<bubblescope::Run> readNames(const StepTimeline& step, int replicas) {
    const test::ScratchFolder folder;
    for (int replica = 0; replica < replicas; ++replica) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            std::string events;
            for (const TimelineOp& op : step.ranks[r])
                events += fmt::format(
                    R"({}{{"ph":"X","cat":"user_annotation","name":"PP:{}{}{}","pid":1,"tid":1,"ts":{},"dur":{}}})",
                    events.empty() ? "" : ",", op.op.chunk.value, opLetter(op.op.kind), op.op.microbatch.value,
                    static_cast<double>(op.start.count()) / 1000, static_cast<double>(op.duration().count()) / 1000);
            folder.write(fmt::format("rank{}.json", static_cast<std::size_t>(replica) * step.ranks.size() + r),
                         "[" + events + "]");
        }
    }
    JobControl control;
    return loadRun({folder.path()}, control);
}

TEST(MovingTraces, AreGuessedFromNamesWithStages) {
    for (const auto& [p, m] : {std::pair{2, 4}, {3, 7}, {4, 12}}) {
        for (const Simulated& ran : simulatedAt(p, m, TimeNs{1'000})) {
            SCOPED_TRACE(scheduleTitle(ran.order));
            const Result<bubblescope::Run> read = readNames(ran.step, 1);
            ASSERT_TRUE(read.ok()) << read.error().text();
            const bubblescope::Run& run = read.value();
            EXPECT_EQ(run.schedule.placement, Placement::Moving);
            EXPECT_EQ(run.schedule.ranks, ran.order.ranks);
            EXPECT_EQ(run.explanation.source, "inferred");
            EXPECT_EQ(std::ranges::count(run.problems, "inferred", &Diagnostic::kind), 1);
            // Orders of several schedules are equal; the others are then named.
            std::string named = run.schedule.name;
            for (const std::string& other : run.explanation.alternatives)
                named += " " + other;
            EXPECT_NE(named.find(ran.order.name), std::string::npos) << named;
            EXPECT_EQ(analyzeStep(run.steps.front(), run.schedule).wall, ran.step.wall());
        }
    }
}

TEST(MovingTraces, AreNotGuessedForReplicas) {
    // Two replicas of one rank with the whole model, which run the same micro-batches.
    const Simulated alone = simulatedAt(1, 4, TimeNs{0}).front();
    const Result<bubblescope::Run> read = readNames(alone.step, 2);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(read.value().schedule.placement, Placement::Loop);
    EXPECT_EQ(read.value().steps.size(), 2U);
    EXPECT_EQ(std::ranges::count(read.value().problems, "inferred", &Diagnostic::kind), 0);
}

} // namespace
} // namespace bubblescope
