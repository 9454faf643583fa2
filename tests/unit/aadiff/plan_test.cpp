#include "core/aadiff/plan.h"

#include "core/families/registry.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace bubblescope {
namespace {

Schedule make(const std::string& family, int pp, int microbatches, int vpp = 1, const std::string& flavor = {}) {
    return makeSchedule({family, flavor, pp, microbatches, vpp}).value();
}

CostModel costsOf(TimeNs forward, TimeNs backward) {
    CostModel costs;
    costs.times = makeOpTimes(forward, backward, {}, {}).value();
    return costs;
}

PlanLimits layered(const Schedule& schedule, int layers) {
    PlanLimits limits;
    limits.layers.assign(schedule.ranks.size() * static_cast<std::size_t>(schedule.vpp), layers);
    return limits;
}

/// Properties that hold for any plan.
void expectSound(const AadiffPlan& plan, const StepTimeline& step, const PlanLimits& limits) {
    for (const RankPlan& rank : plan.ranks) {
        std::set<std::size_t> covered;
        for (const auto& checks : rank.steps) {
            std::set<std::pair<std::size_t, std::size_t>> once;
            TimeNs free{0};
            for (const PlannedCheck& check : checks) {
                const Slot& slot = rank.slots[check.slot];
                const CheckUnit& unit = rank.units[check.unit];
                const TimelineOp& op = step.ranks[unit.rank.index()][check.op];
                EXPECT_GE(check.start, free) << "checks do not overlap";
                EXPECT_GE(check.start, slot.start);
                EXPECT_LE(check.end, slot.end) << "no op is made to wait";
                EXPECT_GE((check.end - check.start).count(),
                          static_cast<std::int64_t>(static_cast<double>(unit.cost.count()) * (1 + limits.margin)));
                EXPECT_LE(op.end - step.begin, check.start) << "what has not run cannot be run again";
                EXPECT_EQ(op.op.kind, unit.kind);
                EXPECT_EQ(op.op.chunk, unit.chunk);
                EXPECT_EQ(op.op.microbatch, check.microbatch);
                EXPECT_TRUE(once.insert({check.op, check.unit}).second) << "twice in a step";
                if (!check.kept) {
                    ASSERT_EQ(unit.kind, OpKind::Forward);
                    for (const TimelineOp& later : step.ranks[unit.rank.index()]) {
                        const bool same = later.op.microbatch == check.microbatch && later.op.chunk == unit.chunk;
                        if (!same || !producesInputGradient(later.op.kind)) continue;
                        EXPECT_GE(later.start - step.begin, check.end) << "its activations are gone";
                    }
                }
                covered.insert(check.unit);
                free = check.end;
            }
        }
        EXPECT_EQ(covered.size() + rank.never.size(), rank.units.size());
    }
}

TEST(AadiffPlan, IsSoundForEveryScheduleOfTheRegistry) {
    int planned = 0;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (const int layers : {1, 4}) {
            ScheduleSpec spec;
            spec.name = family.name;
            spec.pp = 4;
            spec.microbatches = 8;
            for (const int vpp : {1, 2}) {
                spec.vpp = vpp;
                const auto schedule = makeSchedule(spec);
                if (!schedule.ok()) continue;
                const CostModel costs = costsOf(TimeNs{2'000'000}, TimeNs{4'000'000});
                const PlanLimits limits = layered(schedule.value(), layers);
                const auto study = studyAadiff(schedule.value(), costs, limits);
                if (!study.ok()) continue; // sends that need a partner
                SCOPED_TRACE(fmt::format("{}, v {}, {} layers", family.name, vpp, layers));
                expectSound(study.value().as_executed, study.value().executed, limits);
                expectSound(study.value().with_slack, study.value().retimed, limits);
                EXPECT_EQ(study.value().retimed.wall(), study.value().executed.wall()) << "the step is not lengthened";
                ++planned;
            }
        }
    }
    EXPECT_GE(planned, 30);
}

// In 1F1B each gap of the cool-down is one forward long, so that no margin fits; gathered, the gaps hold several.
TEST(AadiffPlan, GathersIdleTimeWhereThatHelps) {
    const Schedule schedule = make("1f1b", 4, 8);
    const auto study = studyAadiff(schedule, costsOf(TimeNs{2'000'000}, TimeNs{2'000'000}), layered(schedule, 1));
    ASSERT_TRUE(study.ok());
    EXPECT_TRUE(study.value().retiming());
    EXPECT_GT(study.value().checkedFraction(study.value().with_slack),
              study.value().checkedFraction(study.value().as_executed));
}

TEST(AadiffPlan, CoversEverythingOldestFirst) {
    const Schedule schedule = make("1f1b", 4, 8);
    const PlanLimits limits = layered(schedule, 8);
    const auto study = studyAadiff(schedule, costsOf(TimeNs{8'000'000}, TimeNs{16'000'000}), limits);
    ASSERT_TRUE(study.ok());
    const AadiffPlan& plan = study.value().plan();
    for (const RankPlan& rank : plan.ranks) {
        EXPECT_EQ(rank.units.size(), 16U) << "F and B of eight layers";
        EXPECT_TRUE(rank.never.empty());
        // A unit is repeated only if no other unit that would fit in its place has waited longer.
        std::map<std::size_t, int> last;
        for (int step = 0; step < static_cast<int>(rank.steps.size()); ++step) {
            for (const PlannedCheck& check : rank.steps[static_cast<std::size_t>(step)])
                last[check.unit] = step;
        }
        EXPECT_EQ(last.size(), rank.units.size());
    }
    ASSERT_TRUE(plan.stepsToFull());
    EXPECT_LE(*plan.stepsToFull(), 3);
    EXPECT_GT(study.value().checkedFraction(plan), 0.15);
}

// Rank 0 has neither time before its first op nor after its last; with whole chunks and a large margin nothing fits.
TEST(AadiffPlan, SaysWhatCanNeverBeChecked) {
    const Schedule schedule = make("1f1b", 2, 4);
    PlanLimits limits = layered(schedule, 1);
    limits.margin = 10;
    const CostModel costs = costsOf(TimeNs{1'000'000}, TimeNs{1'000'000});
    const auto study = studyAadiff(schedule, costs, limits);
    ASSERT_TRUE(study.ok());
    EXPECT_FALSE(study.value().plan().stepsToFull());
    EXPECT_EQ(AadiffStudy::coverableFraction(study.value().plan()), 0.0);
    for (const RankPlan& rank : study.value().plan().ranks) {
        EXPECT_EQ(rank.never.size(), rank.units.size());
        EXPECT_TRUE(rank.steps.empty());
    }
}

TEST(AadiffPlan, KeepsWithinTheMemoryThatThereIs) {
    const Schedule schedule = make("1f1b", 4, 8);
    const CostModel costs = costsOf(TimeNs{8'000'000}, TimeNs{16'000'000});
    PlanLimits limits = layered(schedule, 4);
    limits.kept_bytes.assign(4, 1000);
    for (const std::int64_t spare : {0, 999, 1000, 1'000'000}) {
        limits.spare_bytes.assign(4, spare);
        const auto study = studyAadiff(schedule, costs, limits).value();
        expectSound(study.plan(), study.timeline(), limits);
        for (const RankPlan& rank : study.plan().ranks) {
            EXPECT_LE(rank.peak_kept_bytes, spare);
            for (const auto& step : rank.steps) {
                const bool any = std::ranges::any_of(step, &PlannedCheck::kept);
                EXPECT_TRUE(!any || spare >= 1000);
            }
        }
        if (spare < 1'000'000) continue;
        // The last rank's slot after its last op is filled until no further check fits.
        const RankPlan& last = study.plan().ranks.back();
        const TimeNs largest = std::ranges::max(last.units, {}, &CheckUnit::cost).cost;
        EXPECT_GT(last.checkedPerStep() * 11 / 10 + 2 * largest, last.idle() - last.before_first);
    }
}

TEST(AadiffPlan, NeedsLimitsForEveryStage) {
    PlanLimits limits;
    limits.layers = {2, 2};
    const auto study = studyAadiff(make("1f1b", 4, 8), costsOf(TimeNs{1'000}, TimeNs{2'000}), limits);
    ASSERT_FALSE(study.ok());
    EXPECT_EQ(study.error().kind, ErrorKind::Usage);
}

} // namespace
} // namespace bubblescope
