// Orders that fit by offloading, recomputing and balancing activations.

#include "core/optimize/search/memory_plan.h"

#include "core/families/registry.h"
#include "core/schedule/action_check.h"
#include "tests/support/sanitized.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::int64_t kSize = 100;

MemoryModel modelOf(const Schedule& order) {
    StageMemory stage;
    stage.weights = 1000;
    stage.activations = {kSize, kSize / 2, kSize / 2};
    stage.kept_input = 10;
    return {std::vector<StageMemory>(static_cast<std::size_t>(order.stages()), stage), {}, 0};
}

std::vector<std::int64_t> budgetsOf(const Schedule& order, std::int64_t activations) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(order.pp), 1000 * order.vpp + activations);
}

CostModel costsOf(std::int64_t forward, std::int64_t backward) {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{forward}, TimeNs{backward}, {}, {}).value();
    return costs;
}

MemoryMoves movesOf(bool offload, bool recompute, bool balance, std::int64_t copy) {
    MemoryMoves moves{offload, recompute, balance, {}};
    moves.times.host_copy = moves.times.peer_copy = TimeNs{copy};
    return moves;
}

Result<MemoryPlan> planned(const Schedule& order, std::int64_t activations, const MemoryMoves& moves) {
    return planMemory(order, costsOf(10, 20), modelOf(order), budgetsOf(order, activations), moves, {});
}

TEST(MemoryPlan, FitsEveryFamilyThatItTakes) {
    int plans = 0;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (const int vpp : {1, 2}) {
            const auto order = makeSchedule({std::string(family.name), "", 4, 8, vpp});
            if (!order.ok() || order.value().vpp != vpp) continue;
            const TimeNs unlimited = [&] {
                const auto all = planned(order.value(), 100 * kSize, movesOf(true, true, true, 5));
                return all.ok() ? all.value().makespan() : TimeNs{0};
            }();
            if (unlimited == TimeNs{0}) continue; // pairs, slices or two pipelines
            for (const std::int64_t slots : {8, 4, 3}) {
                for (const auto& moves :
                     {movesOf(true, false, false, 5), movesOf(false, true, false, 5), movesOf(true, true, true, 15)}) {
                    const auto plan = planned(order.value(), slots * kSize, moves);
                    if (!plan.ok()) continue;
                    ++plans;
                    SCOPED_TRACE(std::string(family.name) + " v=" + std::to_string(vpp) + " slots " +
                                 std::to_string(slots));
                    EXPECT_TRUE(checkActions(plan.value().lowered).empty());
                    EXPECT_GE(plan.value().makespan(), unlimited);
                    for (const LoweredMemory& rank : plan.value().memory)
                        EXPECT_LE(rank.peak, 1000 * vpp + slots * kSize);
                }
            }
        }
    }
    EXPECT_GT(plans, 50);
}

TEST(MemoryPlan, MovesNothingThatFits) {
    const Schedule order = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    const MemoryPlan plan = planned(order, 4 * kSize, movesOf(true, true, true, 5)).value();
    EXPECT_EQ(plan.offloaded + plan.recomputed + plan.balanced, 0);
    EXPECT_EQ(plan.makespan(), TimeNs{(8 + 3) * 30});
    EXPECT_FALSE(planned(order, 3 * kSize, movesOf(false, false, false, 5)).ok());
}

TEST(MemoryPlan, FastCopiesHideOffloading) {
    // A copy of half a forward: three slots are enough for 1F1B with four ranks, at no cost.
    const Schedule order = makeSchedule({"1f1b", "", 4, 16, 1}).value();
    const MemoryPlan plan = planned(order, 3 * kSize, movesOf(true, false, false, 5)).value();
    EXPECT_EQ(plan.makespan(), TimeNs{(16 + 3) * 30});
    EXPECT_GT(plan.offloaded, 0);
    EXPECT_EQ(plan.recomputed, 0);
    // Balance needs no host: rank 3 has room for three.
    EXPECT_EQ(planned(order, 3 * kSize, movesOf(false, false, true, 5)).value().makespan(), TimeNs{(16 + 3) * 30});
}

/// The shortest step with any moves of the pieces of an order, and any places of waits and reloads.
std::optional<TimeNs> bestOfAll(const Schedule& order, std::int64_t activations, std::int64_t copy) {
    const MemoryModel model = modelOf(order);
    const std::vector<std::int64_t> budgets = budgetsOf(order, activations);
    const WeightTimes times = movesOf(true, true, false, copy).times;
    // Per rank, all lists of actions that are free of problems.
    std::vector<std::vector<std::vector<Action>>> lists(order.ranks.size());
    for (std::size_t r = 0; r < order.ranks.size(); ++r) {
        const auto& ops = order.ranks[r];
        std::vector<std::vector<Action>> before(ops.size() + 1);
        const std::function<void(std::size_t)> choose = [&](std::size_t f) {
            while (f < ops.size() && ops[f].kind != OpKind::Forward)
                ++f;
            if (f == ops.size()) {
                std::vector<Action> all;
                for (std::size_t i = 0; i < ops.size(); ++i) {
                    for (const ActionKind kind :
                         {ActionKind::Offload, ActionKind::WaitOffload, ActionKind::Reload, ActionKind::Recompute}) {
                        for (const Action& action : before[i])
                            if (action.kind == kind) all.push_back(action);
                    }
                    Action& compute = all.emplace_back();
                    compute.op = static_cast<std::int32_t>(i);
                    compute.stage = order.stageOf(Rank{r}, ops[i].chunk);
                    compute.microbatch = ops[i].microbatch;
                }
                lists[r].push_back(std::move(all));
                return;
            }
            std::size_t b = f;
            while (ops[b].kind != OpKind::Backward || ops[b].microbatch != ops[f].microbatch)
                ++b;
            Action action;
            action.stage = order.stageOf(Rank{r}, ops[f].chunk);
            action.microbatch = ops[f].microbatch;
            const auto put = [&](std::size_t at, ActionKind kind) {
                action.kind = kind;
                before[at].push_back(action);
            };
            choose(f + 1);
            put(b, ActionKind::Recompute);
            choose(f + 1);
            before[b].pop_back();
            for (std::size_t gone = f + 1; gone < b; ++gone) {
                for (std::size_t back = gone + 1; back <= b; ++back) {
                    put(f + 1, ActionKind::Offload);
                    put(gone, ActionKind::WaitOffload);
                    put(back, ActionKind::Reload);
                    choose(f + 1);
                    before[back].pop_back();
                    before[gone].pop_back();
                    before[f + 1].pop_back();
                }
            }
        };
        choose(0);
    }
    std::optional<TimeNs> best;
    LoweredSchedule lowered{order, std::vector<std::vector<Action>>(order.ranks.size())};
    const CostModel costs = costsOf(10, 20);
    for (const auto& first : lists[0]) {
        for (const auto& second : lists[1]) {
            lowered.actions = {first, second};
            const LoweredSchedule whole = withTransfers(lowered);
            const auto step = simulateLowered(whole, costs, {}, times);
            if (!step.ok() || (best && step.value().step.wall() >= *best)) continue;
            const auto memory = loweredMemory(whole, step.value(), model);
            const bool fits = std::ranges::equal(
                memory, budgets, [](const LoweredMemory& rank, std::int64_t budget) { return rank.peak <= budget; });
            if (fits) best = step.value().step.wall();
        }
    }
    return best;
}

/// All orders of one rank with whole backwards: micro-batches in order, no backward before its forward.
std::vector<std::vector<Op>> allOrders(int microbatches) {
    std::vector<std::vector<Op>> all;
    std::vector<Op> order;
    const std::function<void(int, int)> add = [&](int forwards, int backwards) {
        if (backwards == microbatches) return all.push_back(order);
        if (forwards < microbatches) {
            order.emplace_back(OpKind::Forward, Microbatch{forwards}, Chunk{0});
            add(forwards + 1, backwards);
            order.pop_back();
        }
        if (backwards < forwards) {
            order.emplace_back(OpKind::Backward, Microbatch{backwards}, Chunk{0});
            add(forwards, backwards + 1);
            order.pop_back();
        }
    };
    add(0, 0);
    return all;
}

TEST(MemoryPlan, IsNearTheBestOfAllPlansOfAnOrder) {
    const Schedule order = makeSchedule({"fthenb", "", 2, 3, 1}).value();
    for (const std::int64_t copy : {2, 8, 25}) {
        if (test::kSanitized && copy != 8) continue;
        for (const std::int64_t room : {kSize + 20, 2 * kSize, 3 * kSize}) {
            const auto best = bestOfAll(order, room, copy);
            const auto plan = planned(order, room, movesOf(true, true, false, copy));
            ASSERT_EQ(best.has_value(), plan.ok()) << "room " << room;
            if (!best) continue;
            EXPECT_GE(plan.value().makespan(), *best);
            EXPECT_LE(plan.value().makespan().count(), 1.2 * static_cast<double>(best->count()))
                << "room " << room << " copy " << copy;
        }
    }
}

TEST(MemorySearch, FindsTheBestOfAllOrdersAndMovesOfTwoMicrobatches) {
    constexpr int kMicrobatches = 2;
    for (const std::int64_t copy : {2, 25}) {
        for (const std::int64_t room : {kSize, kSize + 20, 2 * kSize}) {
            std::optional<TimeNs> best;
            for (const auto& first : allOrders(kMicrobatches)) {
                for (const auto& second : allOrders(kMicrobatches)) {
                    Schedule order;
                    order.name = "custom";
                    order.pp = 2;
                    order.microbatches = kMicrobatches;
                    order.ranks = {first, second};
                    const auto own = bestOfAll(order, room, copy);
                    if (own && (!best || *own < *best)) best = own;
                }
            }
            ASSERT_TRUE(best.has_value());
            SearchRequest request;
            request.pp = 2;
            request.microbatches = kMicrobatches;
            request.split = SplitBackward::Off;
            request.costs = costsOf(10, 20);
            request.rounds = 2;
            Schedule shape;
            shape.pp = 2;
            request.stages = modelOf(shape);
            request.bytes = budgetsOf(shape, room);
            const auto found = searchWithMoves(request, movesOf(true, true, false, copy), {});
            ASSERT_TRUE(found.ok()) << found.error().text();
            EXPECT_EQ(found.value().plan.makespan(), *best) << "room " << room << " copy " << copy;
            EXPECT_LE(found.value().unlimited.bound, *best);
        }
    }
}

/// BPipe (Kim et al. 2023): balancing bounds 1F1B at ⌈(p + 2)/2⌉ activations. PipeOffload (Wan et al. 2025): if a round
/// trip takes as long as the compute, offloading at least half of the activations costs next to nothing.
TEST(MemorySearch, ReproducesPublishedClaims) {
    constexpr int kRanks = 8;
    constexpr int kMicrobatches = 32;
    SearchRequest request;
    request.pp = kRanks;
    request.microbatches = kMicrobatches;
    request.split = SplitBackward::Off;
    request.costs = costsOf(10, 20);
    request.rounds = 2;
    Schedule shape;
    shape.pp = kRanks;
    request.stages = modelOf(shape);
    const auto stepWith = [&](std::int64_t activations, const MemoryMoves& moves) {
        request.bytes = budgetsOf(shape, activations * kSize);
        const auto found = searchWithMoves(request, moves, {});
        return found.ok() ? found.value().plan.makespan() : TimeNs{0};
    };
    constexpr TimeNs kBest{(kMicrobatches + kRanks - 1) * 30};
    EXPECT_EQ(stepWith((kRanks + 2) / 2, movesOf(false, false, true, 5)), kBest);
    EXPECT_EQ(stepWith(kRanks / 2, movesOf(true, false, false, 15)), kBest);
}

} // namespace
} // namespace bubblescope
