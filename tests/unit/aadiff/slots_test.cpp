#include "core/aadiff/plan.h"

#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope {
namespace {

Schedule make(const std::string& family, int pp, int microbatches, int vpp = 1) {
    return makeSchedule({family, "", pp, microbatches, vpp}).value();
}

CostModel costsOf(TimeNs forward, TimeNs backward) {
    CostModel costs;
    costs.times = makeOpTimes(forward, backward, {}, {}).value();
    return costs;
}

// As drawn up for PaddlePaddle: rank s (from 0) has s, p−s−1, p−s−1 and s slots, 2(p−1) in all.
TEST(Slots, Of1F1BAreAsManyAsTheSeedSays) {
    for (const int pp : {2, 3, 4, 8, 16}) {
        for (const int microbatches : {pp, pp + 3, 4 * pp}) {
            const auto counts = slotCounts(make("1f1b", pp, microbatches), costsOf(TimeNs{2'000}, TimeNs{3'000}));
            ASSERT_TRUE(counts);
            for (int s = 0; s < pp; ++s) {
                SCOPED_TRACE(fmt::format("p {}, m {}, s {}", pp, microbatches, s));
                EXPECT_EQ(counts->total(Rank{s}), 2 * (pp - 1));
                if (microbatches == pp) continue; // rank 0 has no steady part, and one bubble for the two around it
                const auto& of_rank = counts->ranks[static_cast<std::size_t>(s)];
                EXPECT_EQ(of_rank[positionIndex(Position::BeforeWarmup)], s);
                EXPECT_EQ(of_rank[positionIndex(Position::WarmupToSteady)], pp - s - 1);
                EXPECT_EQ(of_rank[positionIndex(Position::SteadyToCooldown)], pp - s - 1);
                EXPECT_EQ(of_rank[positionIndex(Position::AfterCooldown)], s);
            }
        }
    }
}

// The counts are those of op times that add up to the form's bubble.
TEST(Slots, CountTheOpTimesOfTheForms) {
    const CostModel costs = costsOf(TimeNs{1'000'000}, TimeNs{1'000'000});
    for (const char* const family : {"1f1b", "fthenb", "interleaved", "looped-bfs", "eager-1f1b"}) {
        const int vpp = std::string(family) == "interleaved" || std::string(family) == "looped-bfs" ? 2 : 1;
        const Schedule schedule = make(family, 4, 8, vpp);
        const auto counts = slotCounts(schedule, costs);
        const auto form = closedForm(schedule, costs);
        ASSERT_TRUE(counts && form.ok()) << family;
        for (int s = 0; s < 4; ++s)
            EXPECT_EQ(TimeNs{1'000'000} * counts->total(Rank{s}), form.value().bubble[Rank{s}.index()]) << family << s;
    }
}

TEST(Slots, AreNotCountedWhereStagesDiffer) {
    CostModel costs = costsOf(TimeNs{2'000}, TimeNs{4'000});
    costs.stages.assign(4, costs.times);
    EXPECT_FALSE(slotCounts(make("1f1b", 4, 8), costs));
}

TEST(Slots, SayWhichOpMustNotWait) {
    const CostModel costs = costsOf(TimeNs{2'000}, TimeNs{4'000});
    for (const char* const family : {"1f1b", "fthenb", "zb-h1"}) {
        const StepTimeline step = simulate(make(family, 4, 6), costs).value();
        const auto slots = slotsOf(step);
        ASSERT_EQ(slots.size(), 4U);
        for (const auto& of_rank : slots) {
            for (const Slot& slot : of_rank) {
                const auto& ops = step.ranks[slot.rank.index()];
                const TimeNs next = slot.next_op < ops.size() ? ops[slot.next_op].start : step.end;
                EXPECT_EQ(slot.end, next - step.begin) << family;
                if (slot.next_op == 0) continue;
                EXPECT_EQ(slot.start, ops[slot.next_op - 1].end - step.begin) << family;
            }
        }
    }
}

// Only what is free in every one of the last steps can be relied on.
TEST(Slots, OfARunAreTheShortestSeen) {
    const Schedule schedule = make("1f1b", 4, 8);
    std::vector<StepTimeline> steps;
    for (const int forward : {2'000, 1'500, 2'500})
        steps.push_back(simulate(schedule, costsOf(TimeNs{forward}, TimeNs{4'000})).value());
    const auto all = shortestSlotsOf(steps);
    const auto shortest = slotsOf(steps[1]);
    const auto last = slotsOf(steps[2]);
    for (std::size_t r = 0; r < all.size(); ++r) {
        for (const Slot& slot : all[r]) {
            const auto same = [&slot](const Slot& other) { return other.next_op == slot.next_op; };
            const auto one = std::ranges::find_if(shortest[r], same);
            const auto newest = std::ranges::find_if(last[r], same);
            ASSERT_TRUE(one != shortest[r].end() && newest != last[r].end());
            EXPECT_LE(slot.duration(), std::min(one->duration(), newest->duration()));
            EXPECT_EQ(slot.start, newest->start);
        }
    }
    // Steps of another order give no information about this one's.
    std::vector<StepTimeline> mixed{simulate(make("fthenb", 4, 8), costsOf(TimeNs{1}, TimeNs{1})).value(), steps[2]};
    EXPECT_EQ(shortestSlotsOf(mixed)[0].size(), last[0].size());
    EXPECT_TRUE(shortestSlotsOf({}).empty());
}

} // namespace
} // namespace bubblescope
