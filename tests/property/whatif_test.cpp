// Properties that must hold for simulations of any step, on random times and all kinds of schedules.

#include "core/analysis/whatif/run_graph.h"
#include "core/analysis/whatif/scenario.h"
#include "core/cost/measured_times.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace bubblescope {
namespace {

struct Case {
    const char* schedule;
    int pp;
    int microbatches;
    int vpp;
};
constexpr Case kCases[] = {{"fthenb", 3, 5, 1},   {"1f1b", 4, 6, 1},           {"interleaved", 4, 8, 2},
                           {"zb-h1", 4, 6, 1},    {"zb-v", 3, 6, 2},           {"dualpipev", 3, 8, 2},
                           {"dualpipe", 4, 8, 2}, {"interleaved-zb", 2, 4, 2}, {"1f1b", 1, 3, 1},
                           {"seq1f1b", 3, 4, 1}};

/// A step in which every op and link has a different time.
Run randomRun(const Case& what, std::mt19937& random) {
    ScheduleSpec spec;
    spec.name = what.schedule;
    spec.pp = what.pp;
    spec.microbatches = what.microbatches;
    spec.vpp = what.vpp;
    if (spec.name == "seq1f1b") spec.sequence_slices = 2;
    Run run;
    run.files = {"simulated"};
    run.schedule = makeSchedule(spec).value();
    const auto time = [&] { return TimeNs{std::uniform_int_distribution<std::int64_t>(1, 1'000'000)(random)}; };
    auto measured = std::make_shared<MeasuredTimes>();
    for (std::size_t r = 0; r < run.schedule.ranks.size(); ++r) {
        for (const Op& op : run.schedule.ranks[r])
            measured->setOp(Rank{r}, op, time());
    }
    CostModel costs;
    costs.comm = time() / 10;
    costs.measured = measured;
    for (int step = 0; step < 2; ++step) {
        run.steps.push_back(simulate(run.schedule, costs).value());
        run.steps.back().index = step;
    }
    return run;
}

class Simulations : public testing::TestWithParam<Case> {
protected:
    std::mt19937 random_{20240607};
};

TEST_P(Simulations, UnchangedAreTheStep) {
    for (int round = 0; round < 20; ++round) {
        const auto run = randomRun(GetParam(), random_);
        const auto model = runModel(run);
        ASSERT_TRUE(model.ok()) << model.error().text();
        const RunSimulation simulation(model.value().graph(), model.value().timed.durations);
        EXPECT_EQ(simulation.stepTimes(), std::vector<TimeNs>(2, run.steps[0].wall()));
    }
}

TEST_P(Simulations, OfAllUsualAreTheIdealStep) {
    const auto run = randomRun(GetParam(), random_);
    const auto model = runModel(run);
    ASSERT_TRUE(model.ok());
    const auto study = studyStragglers(model.value());
    const auto usual =
        predict(model.value(), run.schedule, parseScenario(std::vector<std::string>{"all=usual"}).value());
    ASSERT_TRUE(usual.ok());
    EXPECT_EQ(usual.value().after, study.ideal);
    const RunSimulation ideal(model.value().graph(), idealDurations(model.value()));
    EXPECT_EQ(ideal.meanStep(), study.ideal);
}

TEST_P(Simulations, FasterOpsNeverMakeAStepLonger) {
    const auto run = randomRun(GetParam(), random_);
    const auto model = runModel(run);
    ASSERT_TRUE(model.ok());
    RunSimulation simulation(model.value().graph(), model.value().timed.durations);
    TimeNs before = simulation.meanStep();
    for (int round = 0; round < 50; ++round) {
        const auto id = static_cast<NodeId>(random_() % static_cast<unsigned>(model.value().graph().size()));
        simulation.set(id, simulation.duration(id) / 2);
        simulation.update();
        EXPECT_LE(simulation.meanStep(), before);
        before = simulation.meanStep();
    }
}

TEST_P(Simulations, ChangedInPlaceAreThoseMadeAnew) {
    const auto run = randomRun(GetParam(), random_);
    const auto model = runModel(run);
    ASSERT_TRUE(model.ok());
    const auto size = static_cast<unsigned>(model.value().graph().size());
    RunSimulation simulation(model.value().graph(), model.value().timed.durations);
    const std::vector<TimeNs> unchanged = simulation.stepTimes();
    for (int round = 0; round < 50; ++round) {
        std::vector<TimeNs> durations = model.value().timed.durations;
        for (unsigned change = 0; change < 1 + random_() % 5; ++change) {
            const auto id = static_cast<NodeId>(random_() % size);
            durations[static_cast<std::size_t>(id)] = TimeNs{static_cast<std::int64_t>(random_() % 2'000'000)};
            simulation.set(id, durations[static_cast<std::size_t>(id)]);
        }
        simulation.update();
        const RunSimulation anew(model.value().graph(), durations);
        for (NodeId id = 0; id < model.value().graph().size(); ++id)
            ASSERT_EQ(simulation.end(id), anew.end(id));
        simulation.undo();
        ASSERT_EQ(simulation.stepTimes(), unchanged);
    }
}

TEST_P(Simulations, BubblesAndWorkFillTheStep) {
    const auto run = randomRun(GetParam(), random_);
    const auto model = runModel(run);
    ASSERT_TRUE(model.ok());
    const auto same = predict(model.value(), run.schedule, parseScenario(std::vector<std::string>{"all=1x"}).value());
    ASSERT_TRUE(same.ok());
    EXPECT_EQ(same.value().change(), TimeNs{0});
    const StepTimeline& step = run.steps[0];
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        TimeNs busy{0};
        for (const TimelineOp& op : step.ranks[r])
            busy += op.op.overlapped && op.op.kind == OpKind::Forward ? TimeNs{0} : op.duration();
        EXPECT_EQ(same.value().ranks[r].before, step.wall() - busy);
        EXPECT_EQ(same.value().ranks[r].after, same.value().ranks[r].before);
    }
}

INSTANTIATE_TEST_SUITE_P(Schedules, Simulations, testing::ValuesIn(kCases), [](const auto& made) {
    std::string name = std::string(made.param.schedule) + "_" + std::to_string(made.param.pp);
    std::ranges::replace(name, '-', '_');
    return name;
});

} // namespace
} // namespace bubblescope
