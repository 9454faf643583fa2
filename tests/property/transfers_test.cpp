// Properties that must hold for transfers and sends of every schedule, whatever its times.

#include "core/cost/measured_times.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>

namespace bubblescope {
namespace {

/// A schedule of every family and flavor at small sizes.
std::vector<Schedule> schedules() {
    std::vector<Schedule> list;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        std::vector<std::string> flavors(family.flavors.begin(), family.flavors.end());
        if (flavors.empty()) flavors.emplace_back();
        for (const std::string& flavor : flavors) {
            for (const auto& [p, m] : {std::pair{2, 4}, {3, 6}, {4, 4}, {4, 8}}) {
                for (const int v : {1, 2, 4}) {
                    auto schedule = makeSchedule({std::string(family.name), flavor, p, m, v});
                    if (schedule.ok()) list.push_back(std::move(schedule).value());
                }
            }
        }
    }
    return list;
}

CostModel randomCosts(const Schedule& schedule, std::mt19937& random) {
    std::uniform_int_distribution<int> time(1, 40);
    CostModel costs;
    for (int s = 0; s < schedule.stages(); ++s)
        costs.stages.push_back(
            makeOpTimes(TimeNs{time(random)}, {}, TimeNs{time(random)}, TimeNs{time(random)}).value());
    costs.comm = TimeNs{time(random) % 8};
    costs.transfers.activation_bytes = 100 * time(random);
    costs.transfers.gradient_bytes = 100 * time(random);
    costs.transfers.bytes_per_second = 200'000'000'000;
    return costs;
}

/// True if no op of `later` starts before it does in `earlier`, of the same order.
bool noOpEarlier(const StepTimeline& earlier, const StepTimeline& later) {
    for (std::size_t r = 0; r < earlier.ranks.size(); ++r) {
        for (std::size_t i = 0; i < earlier.ranks[r].size(); ++i) {
            if (later.ranks[r][i].start < earlier.ranks[r][i].start) return false;
        }
    }
    return true;
}

constexpr std::array kModes{SendMode::Asynchronous, SendMode::Blocking, SendMode::Paired, SendMode::Batched};
constexpr std::array kStreams{CommStreams::Unlimited, CommStreams::PerDirection, CommStreams::PerLink,
                              CommStreams::PerRank};

TEST(TransferProperties, WhatConstrainsNeverLetsAnOpStartEarlier) {
    std::mt19937 random(11);
    int blocking = 0;
    for (const Schedule& schedule : schedules()) {
        CostModel costs = randomCosts(schedule, random);
        const StepTimeline free = simulate(schedule, costs).value();
        for (const CommStreams streams : kStreams) {
            costs.transfers.streams = streams;
            costs.transfers.sends = SendMode::Asynchronous;
            costs.transfers.on_compute_stream = false;
            const StepTimeline queued = simulate(schedule, costs).value();
            EXPECT_TRUE(noOpEarlier(free, queued)) << schedule.name;
            for (const SendMode mode : kModes) {
                for (const bool on_compute_stream : {false, true}) {
                    costs.transfers.sends = mode;
                    costs.transfers.on_compute_stream = on_compute_stream;
                    const auto step = simulate(schedule, costs);
                    ValidateOptions options;
                    options.sends = mode;
                    ASSERT_EQ(step.ok(), validate(schedule, options).empty()) << schedule.name;
                    if (!step.ok()) continue;
                    EXPECT_TRUE(noOpEarlier(queued, step.value()))
                        << schedule.name << " " << schedule.flavor << " " << sendModeName(mode);
                    blocking += mode == SendMode::Asynchronous ? 0 : 1;
                }
            }
        }
    }
    EXPECT_GT(blocking, 1000);
}

TEST(TransferProperties, MoreBandwidthNeverTakesLonger) {
    std::mt19937 random(5);
    for (const Schedule& schedule : schedules()) {
        CostModel costs = randomCosts(schedule, random);
        for (const SendMode mode : {SendMode::Asynchronous, SendMode::Batched}) {
            costs.transfers.sends = mode;
            costs.transfers.streams = kStreams[random() % kStreams.size()];
            costs.transfers.on_compute_stream = random() % 2 == 0;
            costs.transfers.bytes_per_second = 20'000'000'000;
            auto slower = simulate(schedule, costs);
            if (!slower.ok()) continue;
            for (const std::int64_t bandwidth : {60'000'000'000, 400'000'000'000, 90'000'000'000'000}) {
                costs.transfers.bytes_per_second = bandwidth;
                auto faster = simulate(schedule, costs);
                EXPECT_TRUE(noOpEarlier(faster.value(), slower.value())) << schedule.name;
                slower = std::move(faster);
            }
        }
    }
}

TEST(TransferProperties, KnownTimesEqualToTheModelsChangeNothing) {
    for (const Schedule& schedule : schedules()) {
        CostModel costs;
        costs.times = makeOpTimes(TimeNs{7}, {}, TimeNs{8}, TimeNs{5}).value();
        costs.comm = TimeNs{2};
        const StepTimeline plain = simulate(schedule, costs).value();
        auto known = std::make_shared<MeasuredTimes>();
        for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
            const auto& ops = schedule.ranks[r];
            for (std::size_t i = 0; i < ops.size(); ++i) {
                const bool pair = ops[i].overlapped;
                const TimeNs time = costs.times.of(ops[i].kind) + (pair ? costs.times.of(ops[i + 1].kind) : TimeNs{0});
                known->setOp(Rank{r}, ops[i], time);
                if (pair) known->setOp(Rank{r}, ops[++i], time);
            }
        }
        costs.measured = known;
        const StepTimeline replayed = simulate(schedule, costs).value();
        EXPECT_TRUE(noOpEarlier(plain, replayed) && noOpEarlier(replayed, plain)) << schedule.name;
        EXPECT_EQ(plain.wall(), replayed.wall()) << schedule.name;
    }
}

/// Sends and receives posted together never block where neighbours exchange in turn; one at a time they do as soon
/// as two ranks have something for each other.
TEST(TransferProperties, WhichSendsBlock1F1B) {
    ValidateOptions options;
    for (int p = 1; p <= 6; ++p) {
        for (int m = 1; m <= 10; ++m) {
            const Schedule schedule = makeSchedule({"1f1b", "", p, m, 1}).value();
            options.sends = SendMode::Blocking;
            EXPECT_EQ(validate(schedule, options).empty(), p == 1 || m == 1) << p << " " << m;
            options.sends = SendMode::Paired;
            EXPECT_TRUE(validate(schedule, options).empty()) << p << " " << m;
            options.sends = SendMode::Batched;
            EXPECT_TRUE(validate(schedule, options).empty()) << p << " " << m;
            const Schedule gpipe = makeSchedule({"fthenb", "", p, m, 1}).value();
            options.sends = SendMode::Blocking;
            EXPECT_TRUE(validate(gpipe, options).empty()) << p << " " << m;
        }
    }
}

} // namespace
} // namespace bubblescope
