#include "core/cost/memory_model.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope {
namespace {

StageMemory stage(std::int64_t activation, std::int64_t until_weight_grad, std::int64_t fixed = 0) {
    StageMemory memory;
    memory.activations = {activation, activation - until_weight_grad, until_weight_grad};
    memory.weights = fixed;
    return memory;
}

MemoryModel uniform(int stages, const StageMemory& each) {
    return {std::vector<StageMemory>(static_cast<std::size_t>(stages), each), {}};
}

std::vector<std::int64_t> peaks(const Schedule& schedule, const MemoryModel& model) {
    std::vector<std::int64_t> list;
    for (const RankMemory& rank : memoryUse(schedule, model))
        list.push_back(rank.peak_activations);
    return list;
}

TEST(MemoryModel, CountsActivationsAsBytes) {
    const Schedule schedule = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    EXPECT_EQ(peaks(schedule, uniform(4, stage(100, 30))), (std::vector<std::int64_t>{400, 300, 200, 100}));
    const auto ranks = memoryUse(schedule, uniform(4, stage(100, 30)));
    EXPECT_EQ(ranks[0].peak_op, 3U);
    EXPECT_EQ(ranks[3].peak_op, 0U);
}

TEST(MemoryModel, AgreesWithTheCountOfActivations) {
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (const int vpp : {1, 2, 4}) {
            const auto schedule = makeSchedule({std::string(family.name), "", 4, 8, vpp});
            if (!schedule.ok()) continue;
            const auto counted = peakActivations(schedule.value());
            const auto bytes = peaks(schedule.value(), uniform(schedule.value().stages(), stage(1, 1)));
            for (std::size_t r = 0; r < counted.size(); ++r)
                EXPECT_LE(std::abs(counted[r] - bytes[r]), 1) << family.name; // a pair counts as one here
        }
    }
}

TEST(MemoryModel, SplitBackwardsFreeInTwoParts) {
    Schedule schedule;
    schedule.name = "custom";
    schedule.microbatches = 2;
    const auto op = [](OpKind kind, int m) { return Op{kind, Microbatch{m}, Chunk{0}}; };
    schedule.ranks = {{op(OpKind::Forward, 0), op(OpKind::BackwardInput, 0), op(OpKind::Forward, 1),
                       op(OpKind::BackwardWeight, 0), op(OpKind::BackwardInput, 1), op(OpKind::BackwardWeight, 1)}};
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{10}, TimeNs{20}, {}, {}).value();
    const StepTimeline step = simulate(schedule, costs).value();
    const auto curve = [&](const MemoryModel& model) {
        std::vector<std::pair<std::int64_t, std::int64_t>> points;
        for (const MemoryPoint& point : memoryCurve(step, Rank{0}, model))
            points.emplace_back(point.time.count(), point.bytes);
        return points;
    };
    using Points = std::vector<std::pair<std::int64_t, std::int64_t>>;
    EXPECT_EQ(curve(uniform(1, stage(100, 30, 7))),
              (Points{{0, 7}, {0, 107}, {20, 37}, {20, 137}, {40, 107}, {50, 37}, {60, 7}}));
    // I allocates more for W than it frees.
    EXPECT_EQ(curve(uniform(1, stage(100, 120))),
              (Points{{0, 0}, {0, 100}, {20, 120}, {20, 220}, {40, 100}, {50, 120}, {60, 0}}));
    EXPECT_EQ(memoryUse(schedule, uniform(1, stage(100, 120)))[0].peak_op, 2U);

    StageMemory busy = stage(100, 30);
    busy.forward_workspace = 5;
    busy.backward_workspace = 50;
    EXPECT_EQ(curve(uniform(1, busy)), (Points{{0, 0},
                                               {0, 105},
                                               {10, 100},
                                               {10, 150},
                                               {20, 30},
                                               {20, 135},
                                               {30, 130},
                                               {30, 180},
                                               {40, 100},
                                               {40, 150},
                                               {50, 30},
                                               {50, 80},
                                               {60, 0}}));
}

TEST(MemoryModel, NamesTheFirstOpBeyondTheBudget) {
    const Schedule schedule = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    MemoryModel model = uniform(4, stage(100, 30, 1000));
    const auto over = memoryUse(schedule, model, 1250);
    EXPECT_EQ(over[0].over_budget, 2U);
    EXPECT_EQ(over[1].over_budget, 2U);
    EXPECT_EQ(over[2].over_budget, std::nullopt);
    EXPECT_EQ(memoryUse(schedule, model, 1400)[0].over_budget, std::nullopt);

    ValidateOptions options;
    options.memory = model;
    options.memory_budget = 1250;
    const auto problems = validate(schedule, options);
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_EQ(problems[1].kind, "memory");
    EXPECT_EQ(problems[1].rank, Rank{1});
    EXPECT_EQ(problems[1].index, 2U);
    EXPECT_EQ(problems[1].message.text(),
              "starting with F2.0 on rank 1, memory use exceeds 1.22 KiB; the peak is 1.27 KiB");
}

TEST(MemoryModel, CurvesReachThePeakAndEndWhereTheyBegan) {
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (const int vpp : {1, 2, 4}) {
            for (const int slices : {1, 3}) {
                ScheduleSpec spec{std::string(family.name), "", 4, 8, vpp};
                spec.sequence_slices = slices;
                const auto schedule = makeSchedule(spec);
                if (!schedule.ok()) continue;
                MemoryModel model;
                for (int s = 0; s < schedule.value().stages(); ++s) {
                    StageMemory each = stage(1000 + 37 * s, 400 + 91 * (s % 3), 50 * s);
                    each.backward_workspace = 13 * s;
                    model.stages.push_back(each);
                }
                CostModel costs;
                costs.times = makeOpTimes(TimeNs{3}, TimeNs{5}, {}, {}).value();
                const StepTimeline step = simulate(schedule.value(), costs).value();
                const auto ranks = memoryUse(schedule.value(), model);
                for (std::size_t r = 0; r < ranks.size(); ++r) {
                    const auto curve = memoryCurve(step, Rank{r}, model);
                    const auto most = std::ranges::max_element(curve, {}, &MemoryPoint::bytes);
                    EXPECT_EQ(most->bytes, ranks[r].peak()) << family.name;
                    EXPECT_EQ(most->time, step.ranks[r][ranks[r].peak_op].start) << family.name;
                    EXPECT_EQ(curve.front().bytes, ranks[r].fixed());
                    EXPECT_EQ(curve.back().bytes, ranks[r].fixed()) << family.name;
                    EXPECT_TRUE(std::ranges::is_sorted(curve, {}, &MemoryPoint::time));
                }
            }
        }
    }
}

TEST(MemoryModel, NamesTheActivationsHeldAtThePeak) {
    const Schedule split = makeSchedule({"zb-h1", "", 2, 4, 1}).value();
    MemoryModel model = uniform(2, stage(100, 30, 7));
    for (StageMemory& each : model.stages)
        each.forward_workspace = 5;
    const auto ranks = memoryUse(split, model);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        std::int64_t sum = 5; // the peak is at a forward
        for (const HeldPieces& pieces : heldDuring(split, model, Rank{r}, ranks[r].peak_op))
            sum += pieces.bytes * pieces.count;
        EXPECT_EQ(sum, ranks[r].peak_activations) << r;
    }
    const Schedule order = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    EXPECT_EQ(heldDuring(order, model = uniform(4, stage(100, 30)), Rank{1}, 2), (std::vector<HeldPieces>{{100, 3}}));
}

TEST(MemoryModel, IsFittedToMeasuredPeaks) {
    const Schedule order = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    const MemoryModel model = uniform(4, stage(100, 30, 1000));
    // Activations of 250 and 400 more everywhere: 1400 + 250 · (4 - r).
    const auto fitted = fittedTo({{Rank{0}, 2400}, {Rank{3}, 1650}}, order, model);
    ASSERT_TRUE(fitted.ok()) << fitted.error().text();
    const auto ranks = memoryUse(order, fitted.value());
    EXPECT_EQ(ranks[1].peak(), 2150);
    EXPECT_EQ(ranks[2].peak(), 1900);
    EXPECT_EQ(ranks[2].other, 400);
    EXPECT_FALSE(fittedTo({{Rank{0}, 2400}}, order, model).ok());
    EXPECT_FALSE(fittedTo({{Rank{0}, 2400}, {Rank{9}, 1650}}, order, model).ok());
    EXPECT_FALSE(fittedTo({{Rank{0}, 1650}, {Rank{3}, 2400}}, order, model).ok()) << "less with more activations";
}

} // namespace
} // namespace bubblescope
