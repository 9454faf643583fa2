#include "core/optimize/partition/optimise.h"

#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <random>

namespace bubblescope {
namespace {

std::vector<Layer> randomLayers(int count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Layer> layers;
    for (int i = 0; i < count; ++i) {
        const auto time = [&](unsigned from, unsigned range) { return TimeNs{from + random() % range}; };
        Layer& layer = layers.emplace_back();
        layer.times = makeOpTimes(time(500, 1000), {}, time(300, 1500), time(200, 900)).value();
        layer.memory = 1 + static_cast<std::int64_t>(random() % 5);
    }
    return layers;
}

/// The step of a split as the simulation gives it.
TimeNs stepOf(const Schedule& schedule, const std::vector<Layer>& layers, const Partition& partition, TimeNs comm) {
    CostModel costs;
    costs.comm = comm;
    for (const auto& stage : partition.layers()) {
        OpTimes& times = costs.stages.emplace_back();
        for (const int i : stage) {
            const OpTimes& layer = layers[static_cast<std::size_t>(i)].times;
            times.forward += layer.forward;
            times.input_grad += layer.input_grad;
            times.weight_grad += layer.weight_grad;
            times.backward += layer.backward;
        }
    }
    return simulate(schedule, costs).value().wall();
}

std::int64_t mostMemory(const Schedule& schedule, const std::vector<Layer>& layers, const Partition& partition) {
    std::vector<std::int64_t> held(schedule.ranks.size(), 0);
    const auto stages = partition.layers();
    for (std::size_t k = 0; k < stages.size(); ++k) {
        for (const int i : stages[k])
            held[locate(schedule.placement, schedule.pp, Stage{k}).rank.index()] +=
                layers[static_cast<std::size_t>(i)].memory;
    }
    return std::ranges::max(held);
}

void forEverySplit(int layers, int stages, const std::function<void(const Partition&)>& visit) {
    Partition partition;
    const std::function<void(int, int)> go = [&](int left, int open) {
        if (open == 1) {
            partition.layers_per_stage.push_back(left);
            visit(partition);
            partition.layers_per_stage.pop_back();
            return;
        }
        for (int count = 1; count <= left - open + 1; ++count) {
            partition.layers_per_stage.push_back(count);
            go(left - count, open - 1);
            partition.layers_per_stage.pop_back();
        }
    };
    go(layers, stages);
}

struct Case {
    ScheduleSpec spec;
    int layers;
};

const std::vector<Case>& smallCases() {
    static const std::vector<Case> kCases{
        {{"fthenb", "", 3, 4, 1}, 9},      {{"1f1b", "", 4, 6, 1}, 10},
        {{"1f1b", "", 5, 3, 1}, 9},        {{"zb-h1", "", 3, 6, 1}, 9},
        {{"interleaved", "", 2, 4, 2}, 9}, {{"interleaved", "", 2, 4, 3}, 10},
        {{"looped-bfs", "", 3, 3, 2}, 10}, {{"zb-v", "handcrafted", 2, 5, 2}, 9},
        {{"dualpipev", "", 2, 5, 2}, 8},   {{"1f1b", "", 1, 3, 1}, 4},
        {{"1f1b", "", 4, 4, 1}, 4},
    };
    return kCases;
}

TEST(OptimisePartition, FindsWhatTryingEverySplitFinds) {
    int splits = 0;
    for (const Case& one : smallCases()) {
        const Schedule schedule = makeSchedule(one.spec).value();
        for (unsigned seed = 1; seed <= 6; ++seed) {
            const auto layers = randomLayers(one.layers, seed);
            for (const TimeNs comm : {TimeNs{0}, TimeNs{170}}) {
                PartitionOptions options;
                options.comm = comm;
                TimeNs best = TimeNs::max();
                forEverySplit(one.layers, schedule.stages(), [&](const Partition& split) {
                    best = std::min(best, stepOf(schedule, layers, split, comm));
                    ++splits;
                });
                const auto found = optimisePartition(schedule, layers, options);
                ASSERT_TRUE(found.ok()) << found.error().text();
                EXPECT_TRUE(found.value().proven()) << one.spec.name << " " << seed;
                EXPECT_EQ(found.value().best.step, best) << one.spec.name << " " << seed;
                EXPECT_EQ(stepOf(schedule, layers, found.value().best.partition, comm), best);
            }
        }
    }
    EXPECT_GT(splits, 5000);
}

TEST(OptimisePartition, KeepsToTheMemoryOfEachRank) {
    int bound_by_memory = 0;
    for (const Case& one : smallCases()) {
        const Schedule schedule = makeSchedule(one.spec).value();
        for (unsigned seed = 1; seed <= 4; ++seed) {
            const auto layers = randomLayers(one.layers, seed);
            const std::int64_t all =
                std::accumulate(layers.begin(), layers.end(), std::int64_t{0},
                                [](std::int64_t sum, const Layer& layer) { return sum + layer.memory; });
            PartitionOptions options;
            options.memory_per_rank = all / schedule.pp + 1;
            std::optional<TimeNs> best;
            TimeNs best_of_all = TimeNs::max();
            forEverySplit(one.layers, schedule.stages(), [&](const Partition& split) {
                const TimeNs step = stepOf(schedule, layers, split, TimeNs{0});
                best_of_all = std::min(best_of_all, step);
                if (mostMemory(schedule, layers, split) > *options.memory_per_rank) return;
                best = std::min(best.value_or(step), step);
            });
            const auto found = optimisePartition(schedule, layers, options);
            ASSERT_EQ(found.ok(), best.has_value()) << one.spec.name << " " << seed;
            if (!best) continue;
            EXPECT_EQ(found.value().best.step, *best) << one.spec.name << " " << seed;
            EXPECT_LE(mostMemory(schedule, layers, found.value().best.partition), *options.memory_per_rank);
            bound_by_memory += *best > best_of_all ? 1 : 0;
        }
    }
    EXPECT_GT(bound_by_memory, 5);
}

TEST(OptimisePartition, NeverWorseThanAnyRuleAndNeverBelowItsBound) {
    for (const ScheduleSpec& spec : {ScheduleSpec{"1f1b", "", 8, 16, 1}, ScheduleSpec{"interleaved", "", 4, 8, 4},
                                     ScheduleSpec{"zb-v", "", 4, 8, 2}, ScheduleSpec{"fthenb", "", 6, 9, 1}}) {
        const Schedule schedule = makeSchedule(spec).value();
        const auto layers = randomLayers(37, 5);
        PartitionOptions options;
        options.effort = 3'000'000; // too little for a proof with several chunks
        options.rules.push_back({"mine", partitionEvenly(37, schedule.stages(), 0, 1).value()});
        const auto found = optimisePartition(schedule, layers, options).value();
        EXPECT_GE(found.rules.size(), 2U);
        EXPECT_EQ(found.rules.front().name, "even");
        EXPECT_EQ(found.rules.back().name, "mine");
        for (const RatedPartition& rule : found.rules) {
            EXPECT_LE(found.best.step, rule.step);
            EXPECT_LE(found.lower_bound, rule.step);
            EXPECT_EQ(rule.step, stepOf(schedule, layers, rule.partition, TimeNs{0}));
        }
        EXPECT_LE(found.lower_bound, found.best.step);
    }
}

TEST(OptimisePartition, ProvesSizesThatPeopleUse) {
    const Schedule schedule = makeSchedule({"1f1b", "", 16, 64, 1}).value();
    const auto found = optimisePartition(schedule, randomLayers(126, 3)).value();
    EXPECT_TRUE(found.proven());
    EXPECT_LT(found.best.step, found.rules.front().step);
}

TEST(OptimisePartition, SaysWhatItCannotSplit) {
    const auto textOf = [](const ScheduleSpec& spec, int layers, PartitionOptions options = {}) {
        const auto found = optimisePartition(makeSchedule(spec).value(), randomLayers(layers, 1), options);
        return found.ok() ? std::string("split") : found.error().text();
    };
    EXPECT_NE(textOf({"interleaved", "", 4, 4, 2}, 7).find("7 layers cannot fill 8 stages"), std::string::npos);
    EXPECT_NE(textOf({"dualpipe", "", 4, 8, 2}, 12).find("holds two copies of the model"), std::string::npos);
    EXPECT_NE(textOf({"1f1b", "", 2, 4, 1}, 9000).find("too many"), std::string::npos);
    PartitionOptions little;
    little.memory_per_rank = 1;
    EXPECT_NE(
        textOf({"1f1b", "", 2, 4, 1}, 5, little).find("no split fits into every rank's memory (raise memory_budget"),
        std::string::npos);
    PartitionOptions wrong;
    wrong.rules.push_back({"mine", {{1, 2, 3}}});
    EXPECT_NE(textOf({"1f1b", "", 2, 4, 1}, 6, wrong).find("mine does not split 6 layers into 2"), std::string::npos);
}

} // namespace
} // namespace bubblescope
