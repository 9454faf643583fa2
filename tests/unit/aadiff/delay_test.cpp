#include "core/aadiff/coverage.h"

#include "core/cost/measured_times.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

namespace bubblescope {
namespace {

using Checks = std::vector<std::vector<std::pair<TimeNs, TimeNs>>>;

CostModel someCosts() {
    CostModel costs;
    costs.times = {TimeNs{5'000}, TimeNs{10'000}, TimeNs{6'000}, TimeNs{4'000}, TimeNs{0}};
    costs.comm = TimeNs{300};
    return costs;
}

/// A check of this time right before an op, as it would show in a trace.
StepTimeline withCheck(const Schedule& schedule, Rank rank, const Op& op, TimeNs time, Checks& checks) {
    CostModel costs = someCosts();
    auto times = std::make_shared<MeasuredTimes>();
    const TimeNs usual = costs.opTime(op.kind, schedule.stageOf(rank, op.chunk));
    times->setOp(rank, op, usual + time);
    costs.measured = times;
    StepTimeline step = simulate(schedule, costs).value();
    for (TimelineOp& timed : step.ranks[rank.index()]) {
        if (!(timed.op == op)) continue;
        checks[rank.index()].emplace_back(timed.start, timed.start + time);
        timed.start += time;
    }
    return step;
}

TEST(DelayByChecks, IsWhatTheStepIsLongerBy) {
    for (const auto& [name, vpp] : {std::pair{"1f1b", 1}, std::pair{"interleaved", 2}, std::pair{"zb-v", 2}}) {
        const Schedule schedule = makeSchedule({name, "", 4, 8, vpp}).value();
        const StepTimeline clean = simulate(schedule, someCosts()).value();
        Checks none(4);
        EXPECT_EQ(delayByChecks(clean, none), TimeNs{0}) << name;
        int delayed = 0;
        for (const std::size_t place : {0U, 3U, 9U, 14U}) {
            for (const std::size_t rank : {0U, 2U, 3U}) {
                Checks checks(4);
                const Op op = schedule.ranks[rank][place];
                if (op.overlapped) continue;
                const StepTimeline step = withCheck(schedule, Rank{rank}, op, TimeNs{3'000}, checks);
                EXPECT_EQ(delayByChecks(step, checks), step.wall() - clean.wall())
                    << name << " " << rank << " " << place;
                EXPECT_EQ(delayByChecks(step, none), TimeNs{0}) << "without checks nothing else explains it";
                delayed += step.wall() > clean.wall() ? 1 : 0;
            }
        }
        EXPECT_GT(delayed, 0) << name;
    }
}

TEST(DelayByChecks, IsNothingInsideABubble) {
    const Schedule schedule = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    const StepTimeline step = simulate(schedule, someCosts()).value();
    Checks checks(4);
    checks[3].emplace_back(TimeNs{0}, TimeNs{15'000}); // before its first op
    EXPECT_EQ(delayByChecks(step, checks), TimeNs{0});
}

} // namespace
} // namespace bubblescope
