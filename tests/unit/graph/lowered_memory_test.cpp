// Offloading, reloading and recomputation of activations: times, memory and checks.

#include "core/families/registry.h"
#include "core/graph/lowered_memory.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/schedule/action_check.h"
#include "core/schedule/schedule_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

using Points = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// A rank that runs two micro-batches and these actions; F takes 2 and B 4.
LoweredSchedule oneRank(const std::string& actions) {
    const auto read =
        loweredFromJson(R"({"ranks":[[["F",0],["F",1],["B",1],["B",0]]],"lowered":[)" + actions + "]}", "test");
    EXPECT_TRUE(read.ok()) << read.error().text();
    return read.value();
}

CostModel costs() {
    CostModel model;
    model.times = makeOpTimes(TimeNs{2}, TimeNs{4}, {}, {}).value();
    return model;
}

WeightTimes copies(std::int64_t host, std::int64_t peer = 0) {
    WeightTimes times;
    times.host_copy = TimeNs{host};
    times.peer_copy = TimeNs{peer};
    return times;
}

MemoryModel model(int stages) {
    StageMemory stage;
    stage.weights = 100;
    stage.activations = {10, 5, 5};
    stage.kept_input = 1;
    return {std::vector<StageMemory>(static_cast<std::size_t>(stages), stage), {}, 0};
}

Points pointsOf(const LoweredMemory& memory) {
    Points points;
    for (const MemoryPoint& point : memory.curve)
        points.emplace_back(point.time.count(), point.bytes);
    return points;
}

TEST(LoweredMemory, IsFreeBetweenOffloadAndReload) {
    const LoweredSchedule lowered = oneRank(R"(["0F0","0OFFLOAD0","0F1","0WAIT_OFFLOAD0","0B1","0RELOAD0","0B0"])");
    EXPECT_TRUE(checkActions(lowered).empty());
    const LoweredStep step = simulateLowered(lowered, costs(), {}, copies(3)).value();
    EXPECT_EQ(step.step.end, TimeNs{16}); // the reload takes 9 to 12
    const LoweredMemory memory = loweredMemory(lowered, step, model(1))[0];
    EXPECT_EQ(pointsOf(memory), (Points{{0, 100}, {0, 110}, {2, 120}, {5, 110}, {9, 110}, {16, 100}}));
    EXPECT_EQ(memory.peak, 120);
    EXPECT_EQ(memory.peak_op, "F1.0");
}

TEST(LoweredMemory, WaitsForSlowCopies) {
    const LoweredSchedule lowered = oneRank(R"(["0F0","0OFFLOAD0","0WAIT_OFFLOAD0","0F1","0RELOAD0","0B1","0B0"])");
    const LoweredStep step = simulateLowered(lowered, costs(), {}, copies(20)).value();
    EXPECT_EQ(step.step.ranks[0][1].start, TimeNs{22}); // F1 after the copy
    EXPECT_EQ(step.step.end, TimeNs{24 + 20 + 4});      // the reload starts when F1 has ended
    EXPECT_EQ(loweredMemory(lowered, step, model(1))[0].peak, 120);
}

TEST(LoweredMemory, RecomputationKeepsOnlyTheInput) {
    const LoweredSchedule lowered = oneRank(R"(["0F0","0F1","0B1","0RECOMPUTE0","0B0"])");
    EXPECT_TRUE(checkActions(lowered).empty());
    const LoweredStep step = simulateLowered(lowered, costs(), {}, {}).value();
    EXPECT_EQ(step.step.end, TimeNs{14});
    EXPECT_EQ(step.step.ranks[0].back().start, TimeNs{8}); // with the recomputation
    const LoweredMemory memory = loweredMemory(lowered, step, model(1))[0];
    EXPECT_EQ(pointsOf(memory), (Points{{0, 100}, {0, 101}, {2, 111}, {8, 110}, {14, 100}}));
    EXPECT_EQ(memory.peak, 111);
}

TEST(LoweredMemory, MovesToAnotherRank) {
    LoweredSchedule lowered{makeSchedule({"1f1b", "", 2, 2, 1}).value(), {}};
    const auto read = loweredFromJson(
        R"({"ranks":[[["F",0],["F",1],["B",0],["B",1]],[["F",0],["B",0],["F",1],["B",1]]],
            "lowered":[["0F0","0F1","0OFFLOAD1@1","0B0","0RELOAD1","0B1"],["1F0","1B0","1F1","1B1"]]})",
        "test");
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_TRUE(checkActions(read.value()).empty());
    EXPECT_EQ(scheduleToJson(loweredFromJson(scheduleToJson(read.value()), "again").value()),
              scheduleToJson(read.value()));
    EXPECT_FALSE(scheduleToCsv(read.value()).ok()) << "PyTorch cannot read it";
    lowered = withTransfers(read.value());
    const LoweredStep step = simulateLowered(lowered, costs(), {}, copies(0, 1)).value();
    // Rank 0: F 0-4, offload 4-5, B0 8-12 after B0 of rank 1 (4-8), reload 12-13; rank 1: F1 8-10, B1 10-14.
    EXPECT_EQ(step.step.end, TimeNs{18});
    const auto memory = loweredMemory(lowered, step, model(2));
    EXPECT_EQ(pointsOf(memory[0]), (Points{{0, 100}, {0, 110}, {2, 120}, {5, 110}, {12, 110}, {18, 100}}));
    EXPECT_EQ(pointsOf(memory[1]), (Points{{0, 100}, {2, 110}, {4, 120}, {8, 120}, {13, 110}, {14, 100}}));
}

TEST(LoweredMemory, GathersWeights) {
    const LoweredSchedule lowered = oneRank(R"(["0UNSHARD","0F0","0F1","0B1","0B0","0RESHARD"])");
    const LoweredStep step = simulateLowered(lowered, costs(), {}, {}).value();
    MemoryModel sharded = model(1);
    sharded.stages[0].weights = 25;
    sharded.stages[0].gathered = 100;
    const LoweredMemory memory = loweredMemory(lowered, step, sharded)[0];
    EXPECT_EQ(memory.peak, 25 + 100 + 20);
    EXPECT_EQ(memory.curve.back().bytes, 25);
}

TEST(LoweredMemory, EqualsTheOrdersWithoutMoves) {
    for (const ScheduleFamily& family : scheduleFamilies()) {
        const auto order = makeSchedule({std::string(family.name), "", 4, 8, family.name == "1f1b" ? 1 : 2});
        if (!order.ok() || routes(order.value().placement) > 1) continue;
        const bool sliced = std::ranges::any_of(order.value().ranks[0], [](const Op& op) { return op.sequence > 0; });
        if (sliced) continue;
        LoweredSchedule lowered = withoutActions(order.value());
        CostModel with_transfers = costs();
        with_transfers.comm = TimeNs{1};
        lowered = withTransfers(std::move(lowered));
        const auto step = simulateLowered(lowered, with_transfers, {}, {});
        ASSERT_TRUE(step.ok()) << family.name << step.error().text();
        EXPECT_EQ(step.value().step.wall(), simulate(lowered.order, with_transfers).value().wall()) << family.name;
        const auto use = memoryUse(lowered.order, model(lowered.order.stages()));
        const auto memory = loweredMemory(lowered, step.value(), model(lowered.order.stages()));
        for (std::size_t r = 0; r < use.size(); ++r)
            EXPECT_EQ(memory[r].peak, use[r].peak()) << family.name << " rank " << r;
    }
}

/// 1F1B that recomputes everything: the last rank runs m times F, F and B one after another; before that, F passes the
/// other ranks, and after it B does, because these recompute while they wait: m(2F + B) + (p − 1)(F + B).
TEST(LoweredMemory, RecomputationFillsTheBubblesOf1F1B) {
    for (int pp = 1; pp <= 6; ++pp) {
        for (int m = pp; m <= 12; ++m) {
            for (const auto& [forward, backward] : {std::pair<int, int>{1, 2}, {2, 3}, {3, 3}}) {
                LoweredSchedule lowered = withoutActions(makeSchedule({"1f1b", "", pp, m, 1}).value());
                for (std::size_t r = 0; r < lowered.actions.size(); ++r) {
                    std::vector<Action> all;
                    for (const Action& compute : lowered.actions[r]) {
                        if (lowered.order.ranks[r][static_cast<std::size_t>(compute.op)].kind == OpKind::Backward) {
                            all.push_back(compute);
                            all.back().kind = ActionKind::Recompute;
                        }
                        all.push_back(compute);
                    }
                    lowered.actions[r] = std::move(all);
                }
                CostModel model;
                model.times = makeOpTimes(TimeNs{forward}, TimeNs{backward}, {}, {}).value();
                const auto step = simulateLowered(withTransfers(lowered), model, {});
                ASSERT_TRUE(step.ok()) << step.error().text();
                EXPECT_EQ(step.value().step.wall(),
                          TimeNs{m * (2 * forward + backward) + (pp - 1) * (forward + backward)})
                    << "p=" << pp << " m=" << m << " F=" << forward << " B=" << backward;
            }
        }
    }
}

TEST(MemoryActions, AreCheckedAgainstTheOrder) {
    const auto problems = [](const std::string& actions) {
        const auto found = checkActions(oneRank(actions));
        return found.empty() ? std::string() : found.front().message.text();
    };
    EXPECT_EQ(problems(R"(["0F0","0OFFLOAD0","0F1","0B1","0B0"])"), "0B0 runs while its activations are offloaded");
    const auto state = [](const std::string& name) { return name + ": the activations are not in the required state"; };
    EXPECT_EQ(problems(R"(["0OFFLOAD0","0F0","0F1","0B1","0B0"])"), state("0OFFLOAD0"));
    EXPECT_EQ(problems(R"(["0F0","0RELOAD0","0F1","0B1","0B0"])"), state("0RELOAD0"));
    EXPECT_EQ(problems(R"(["0F0","0F1","0B1","0B0","0RECOMPUTE0"])"), state("0RECOMPUTE0"));
    EXPECT_EQ(problems(R"(["0F0","0RECOMPUTE0","0OFFLOAD0","0F1","0B1","0B0"])"), state("0OFFLOAD0"));
    EXPECT_EQ(problems(R"(["0F0","0OFFLOAD0@0","0RELOAD0","0F1","0B1","0B0"])"),
              "0OFFLOAD0@0 specifies a rank that cannot store the activations");
    EXPECT_FALSE(simulateLowered(oneRank(R"(["0F0","0OFFLOAD0","0F1","0B1","0B0"])"), costs(), {}).ok());
}

} // namespace
} // namespace bubblescope
