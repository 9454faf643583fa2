#include "core/recognise/dispatch_match.h"

#include "core/cost/measured_times.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace bubblescope {
namespace {

/// Steps whose op times vary, in the order that ranks choose, or in the hint's if the rule is List.
std::vector<StepTimeline> variedSteps(const Schedule& hint, const DispatchPolicy& policy) {
    std::mt19937 random(5);
    std::uniform_int_distribution<std::int64_t> time(400'000, 2'000'000);
    std::vector<StepTimeline> steps;
    for (int n = 0; n < 3; ++n) {
        CostModel costs;
        costs.comm = TimeNs{100'000};
        auto times = std::make_shared<MeasuredTimes>();
        for (int r = 0; r < hint.pp; ++r) {
            for (const Op& op : hint.ranks[Rank{r}.index()])
                times->setOp(Rank{r}, op, TimeNs{time(random)});
        }
        costs.measured = times;
        steps.push_back(simulate(dispatched(hint, costs, policy).value(), costs).value());
        steps.back().index = n;
    }
    return steps;
}

TEST(DispatchMatch, FindsTheHintOfRanksThatChoose) {
    for (const ScheduleSpec& spec : {ScheduleSpec{"interleaved", "megatron", 4, 8, 2}, ScheduleSpec{"1f1b", "", 4, 12},
                                     ScheduleSpec{"zb-h1", "", 4, 8}}) {
        const Schedule hint = makeSchedule(spec).value();
        const auto match = matchDispatch(variedSteps(hint, {DispatchRule::Ready, {}}));
        ASSERT_TRUE(match.has_value()) << spec.name;
        EXPECT_GE(match->explained, match->choices * 98 / 100);
        EXPECT_GT(match->moved, 0);
        EXPECT_TRUE(spec.name != "interleaved" || match->hint.name == spec.name) << match->hint.name;
    }
}

TEST(DispatchMatch, LeavesFixedOrdersAlone) {
    const Schedule fixed = makeSchedule({"1f1b", "", 4, 12, 1}).value();
    EXPECT_FALSE(matchDispatch(variedSteps(fixed, {})).has_value());
    Schedule swapped = fixed;
    std::swap(swapped.ranks[0][5], swapped.ranks[0][6]);
    EXPECT_FALSE(matchDispatch(variedSteps(swapped, {})).has_value());
}

/// Two fixed orders that take turns are not choices: ranks wait although ops are ready.
TEST(DispatchMatch, LeavesOrdersThatTakeTurnsAlone) {
    const Schedule first = makeSchedule({"1f1b", "", 4, 12, 1}).value();
    const Schedule second = makeSchedule({"fthenb", "", 4, 12, 1}).value();
    std::vector<StepTimeline> steps = variedSteps(first, {});
    steps[1] = variedSteps(second, {})[1];
    EXPECT_FALSE(matchDispatch(steps).has_value());
}

TEST(DispatchMatch, IsNoDeparture) {
    const Schedule hint = makeSchedule({"interleaved", "megatron", 4, 8, 2}).value();
    bubblescope::Run run;
    run.steps = variedSteps(hint, {DispatchRule::Ready, {}});
    run.schedule = executedOrder(run.steps.front());
    run.departure = Departure{};
    explainDispatch(run);
    EXPECT_TRUE(choosesOps(run));
    EXPECT_EQ(run.closest, "interleaved (megatron)");
    ASSERT_FALSE(run.explanation.evidence.empty());
    EXPECT_NE(run.explanation.evidence.back().find("dispatched by readiness"), std::string::npos);
}

} // namespace
} // namespace bubblescope
