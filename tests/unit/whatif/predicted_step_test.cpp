#include "core/analysis/whatif/scenario.h"
#include "tests/unit/whatif/runs.h"

namespace bubblescope::test {
namespace {

Result<StepTimeline> predicted(const bubblescope::Run& run, std::vector<std::string> changes, std::size_t step = 0) {
    const auto scenario = parseScenario(changes);
    EXPECT_TRUE(scenario.ok());
    const auto model = runModel(run);
    EXPECT_TRUE(model.ok());
    return predictedStep(model.value(), run.schedule, scenario.value(), {}, step);
}

bubblescope::Run slowSecondRank() {
    return simulatedRun(scheduleOf("1f1b", 2, 2), {unitTimes(), opTimes(2ms, 2ms, 2ms)});
}

TEST(PredictedStep, IsTheObservedOneWhereNothingChanges) {
    const auto run = slowSecondRank();
    const StepTimeline step = predicted(run, {}).value();
    ASSERT_EQ(step.ranks.size(), 2U);
    EXPECT_EQ(step.wall(), run.steps[0].wall());
    for (std::size_t rank = 0; rank < 2; ++rank) {
        ASSERT_EQ(step.ranks[rank].size(), run.steps[0].ranks[rank].size());
        for (std::size_t i = 0; i < step.ranks[rank].size(); ++i) {
            EXPECT_EQ(step.ranks[rank][i].op, run.steps[0].ranks[rank][i].op);
            EXPECT_EQ(step.ranks[rank][i].start, run.steps[0].ranks[rank][i].start);
            EXPECT_EQ(step.ranks[rank][i].end, run.steps[0].ranks[rank][i].end);
        }
    }
}

TEST(PredictedStep, IsThatOfEqualRanksWhereTheSlowOneIsAsUsual) {
    const auto run = slowSecondRank();
    const StepTimeline step = predicted(run, {"rank:1=usual"}).value();
    const auto ideal = simulatedRun(run.schedule, {unitTimes(), unitTimes()});
    EXPECT_EQ(step.wall(), 9ms); // as predict() says
    for (std::size_t i = 0; i < step.ranks[1].size(); ++i)
        EXPECT_EQ(step.ranks[1][i].start, ideal.steps[0].ranks[1][i].start);
}

TEST(PredictedStep, FollowsAnotherSchedule) {
    const auto run = simulatedRun(scheduleOf("1f1b", 4, 8), std::vector<OpTimes>(4, unitTimes()));
    const StepTimeline step = predicted(run, {"schedule=fthenb"}).value();
    const auto model = runModel(run);
    const auto scenario = parseScenario(std::vector<std::string>{"schedule=fthenb"});
    EXPECT_EQ(step.wall(), predict(model.value(), run.schedule, scenario.value()).value().after);
    for (std::size_t i = 0; i < 8; ++i)
        EXPECT_EQ(step.ranks[0][i].op.kind, OpKind::Forward);
}

TEST(ScenarioAnswer, HoldsThePredictionAndTheStepByItsNumbers) {
    auto run = simulatedRun(scheduleOf("1f1b", 4, 8), std::vector<OpTimes>(4, unitTimes()));
    run.steps[0].index = 12;
    const auto model = runModel(run);
    const auto scenario = parseScenario(std::vector<std::string>{"schedule=fthenb"});
    const auto answer = answerScenario(model.value(), run.schedule, scenario.value(), {}, run.steps[0]);
    ASSERT_TRUE(answer.ok());
    ASSERT_TRUE(answer.value().timeline);
    EXPECT_EQ(answer.value().timeline->wall(), answer.value().prediction.after);
    EXPECT_TRUE(answer.value().no_timeline.empty());
    StepTimeline other = run.steps[0];
    other.index = 13;
    const auto missing = answerScenario(model.value(), run.schedule, scenario.value(), {}, other);
    ASSERT_TRUE(missing.ok()) << "the prediction is of the run";
    EXPECT_FALSE(missing.value().timeline);
    EXPECT_NE(missing.value().no_timeline.find("does not contain this step"), std::string::npos);
}

TEST(PredictedStep, RefusesWhatIsNotThere) {
    EXPECT_FALSE(predicted(slowSecondRank(), {}, 7).ok());
    EXPECT_FALSE(predicted(slowSecondRank(), {"rank:9=usual"}).ok());
    const auto pairs = simulatedRun(scheduleOf("1f1b-overlap", 4, 8), std::vector<OpTimes>(4, unitTimes()));
    EXPECT_FALSE(predicted(pairs, {}).ok());
}

} // namespace
} // namespace bubblescope::test
