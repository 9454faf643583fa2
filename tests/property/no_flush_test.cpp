// Pipelines without a flush: orders, weight versions and closed forms against the papers' rules and the simulation.

#include "core/families/no_flush.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/schedule/schedule_files.h"
#include "core/schedule/weight_versions.h"
#include "tests/property/form_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace bubblescope {
namespace {

using test::checkForm;
using test::kRatios;
using test::Ratio;
using test::wholeTimes;

struct Sizes {
    int p;
    int group;
    int updates;
};

ScheduleSpec specOf(const char* family, const char* flavor, const Sizes& size) {
    ScheduleSpec spec{family, flavor, size.p, size.group * size.updates, 1};
    spec.group_size = size.group;
    return spec;
}

template <class Visit>
void eachSize(int most_ranks, Visit visit) {
    for (int p = 1; p <= most_ranks; ++p)
        for (const int group : {1, 2, p, 2 * p + 1})
            for (const int updates : {1, 2, 3, 6, 11})
                visit(Sizes{p, group, updates});
}

/// Every rank runs the order of 1F1B over all micro-batches, and updates once it has the gradients of a group.
TEST(NoFlush, OrderIs1F1BWithAnUpdateAfterEachGroup) {
    eachSize(8, [](const Sizes& size) {
        const auto made = makeSchedule(specOf("pipedream", "", size));
        ASSERT_TRUE(made.ok());
        const auto problems = validate(made.value());
        EXPECT_TRUE(problems.empty()) << problems.front().message.text();
        const Schedule plain = makeSchedule({"1f1b", "", size.p, size.group * size.updates, 1}).value();
        for (std::size_t r = 0; r < made.value().ranks.size(); ++r) {
            std::vector<Op> ops = made.value().ranks[r];
            int gradients = 0;
            for (const Op& op : ops) {
                EXPECT_TRUE(op.kind != OpKind::Optimizer || gradients % size.group == 0);
                gradients += op.kind == OpKind::Backward ? 1 : 0;
            }
            EXPECT_EQ(std::erase_if(ops, [](const Op& op) { return op.kind == OpKind::Optimizer; }),
                      static_cast<std::size_t>(size.updates - 1));
            EXPECT_EQ(ops, plain.ranks[r]);
        }
        const auto two = makeSchedule(specOf("pipedream-2bw", "", size));
        EXPECT_EQ(two.ok(), size.group >= size.p - 1);
        EXPECT_TRUE(!two.ok() || two.value().ranks == made.value().ranks);
    });
}

/// PipeDream-2BW: w(t+1) = w(t) − ν·∇f(w(t−1)), with two versions on every rank.
TEST(NoFlush, TwoVersionsAreOneUpdateLate) {
    int compared = 0;
    eachSize(8, [&](const Sizes& size) {
        const auto made = makeSchedule(specOf("pipedream-2bw", "", size));
        if (!made.ok()) return;
        const WeightVersions versions = weightVersions(made.value()).value();
        EXPECT_EQ(versions.updates, size.updates);
        const bool late = size.p > 1 && size.updates > 1;
        for (int s = 0; s < size.p; ++s) {
            EXPECT_EQ(versions.held[Rank{s}.index()], late ? 2 : 1);
            EXPECT_EQ(versions.delay(Stage{s}), late ? 1 : 0);
            for (int k = 0; k < size.group * size.updates; ++k) {
                const int update = k / size.group;
                EXPECT_EQ(versions.update_of[Microbatch{k}.index()], update);
                EXPECT_EQ(versions.used[Stage{s}.index()][Microbatch{k}.index()],
                          size.p > 1 ? std::max(0, update - 1) : update);
                ++compared;
            }
        }
    });
    EXPECT_GT(compared, 5'000);
}

/// PipeDream with an update per micro-batch: stage s is p−1−s updates late and holds p−s versions; with vertical
/// synchronisation all stages are p−1 late.
TEST(NoFlush, StashedVersionsFallFromRankToRank) {
    for (int p = 1; p <= 10; ++p) {
        const Sizes size{p, 1, 3 * p + 2};
        const WeightVersions stashed = weightVersions(makeSchedule(specOf("pipedream", "", size)).value()).value();
        const WeightVersions synced =
            weightVersions(makeSchedule(specOf("pipedream", "vertical-sync", size)).value()).value();
        for (int s = 0; s < p; ++s) {
            EXPECT_EQ(stashed.delay(Stage{s}), p - 1 - s);
            EXPECT_EQ(stashed.held[Rank{s}.index()], p - s);
            EXPECT_EQ(synced.delay(Stage{s}), p - 1);
            EXPECT_EQ(synced.held[Rank{s}.index()], p);
        }
    }
}

TEST(NoFlush, FormsEqualSimulation) {
    int compared = 0;
    for (const char* const family : {"pipedream", "pipedream-2bw"}) {
        eachSize(8, [&](const Sizes& size) {
            const auto made = makeSchedule(specOf(family, "", size));
            if (!made.ok()) return;
            for (const Ratio ratio : kRatios) {
                for (const int optimizer : {0, 1, 5}) {
                    CostModel costs;
                    costs.times = wholeTimes(ratio);
                    costs.times.optimizer = TimeNs{optimizer};
                    const test::FormCheck check = checkForm(made.value(), costs);
                    EXPECT_EQ(check.kind, FormKind::Exact);
                    compared += check.compared;
                    test::checkQuotes(made.value(), costs);
                }
            }
        });
    }
    test::reportCompared(compared);
    EXPECT_GT(compared, 20'000);
}

/// Each further update costs its work, and no bubble.
TEST(NoFlush, AnUpdateTakesItsWork) {
    for (int p = 1; p <= 8; ++p) {
        for (const int group : {1, p, 3 * p}) {
            CostModel costs;
            costs.times = wholeTimes({2, 3});
            costs.times.optimizer = TimeNs{4};
            const auto wallOf = [&](int updates) {
                return simulate(makeSchedule(specOf("pipedream", "", {p, group, updates})).value(), costs)
                    .value()
                    .wall();
            };
            for (int updates = 1; updates < 9; ++updates)
                EXPECT_EQ((wallOf(updates + 1) - wallOf(updates)).count(), group * 5 + 4);
        }
    }
}

TEST(NoFlush, RefusalsSayWhatToGive) {
    const std::pair<ScheduleSpec, const char*> cases[] = {
        {specOf("pipedream-2bw", "", {6, 3, 4}), "group_size=5"},
        {{"pipedream-2bw", "", 4, 10, 1}, "use 8 or 12"},
        {{"pipedream-2bw", "", 4, 3, 1}, "use 4 or 8"},
        {{"pipedream", "", 4, 8, 2}, "one chunk"},
    };
    for (const auto& [spec, text] : cases) {
        const auto schedule = makeSchedule(spec);
        ASSERT_FALSE(schedule.ok()) << text;
        EXPECT_NE(schedule.error().text().find(text), std::string::npos) << schedule.error().text();
    }
    EXPECT_TRUE(trainsWithDelay("pipedream-2bw"));
    EXPECT_FALSE(trainsWithDelay("1f1b"));
}

/// Ranks that update after different micro-batches share no version.
TEST(NoFlush, UnequalUpdatesHaveNoVersions) {
    EXPECT_FALSE(weightVersions({}).ok());
    Schedule schedule = makeSchedule(specOf("pipedream", "", {2, 1, 3})).value();
    std::swap(schedule.ranks[1][2], schedule.ranks[1][3]); // O before F of the last rank, now after it
    ASSERT_TRUE(weightVersions(schedule).ok());
    std::erase_if(schedule.ranks[1], [](const Op& op) { return op.kind == OpKind::Optimizer; });
    EXPECT_FALSE(weightVersions(schedule).ok());
    EXPECT_FALSE(scheduleToCsv(schedule).ok()); // rank 0 still has updates
}

} // namespace
} // namespace bubblescope
