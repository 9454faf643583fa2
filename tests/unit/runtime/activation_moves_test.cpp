// Runs that offload, reload and recompute activations: the bits of training without a pipeline, and the memory that the
// simulation predicts.

#include "core/families/registry.h"
#include "core/graph/lowered_memory.h"
#include "runtime/model/stage_memory.h"
#include "runtime/run.h"
#include "tests/support/reference_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

/// Offloads the activations of even micro-batches until their backward, and recomputes those of odd ones.
LoweredSchedule movesOf(const Schedule& order) {
    LoweredSchedule lowered = withoutActions(order);
    for (std::size_t r = 0; r < lowered.actions.size(); ++r) {
        std::vector<Action> all;
        for (const Action& compute : lowered.actions[r]) {
            const Op& op = order.ranks[r][static_cast<std::size_t>(compute.op)];
            const bool even = op.microbatch.value % 2 == 0;
            const auto add = [&](ActionKind kind) {
                Action& action = all.emplace_back();
                action.kind = kind;
                action.stage = compute.stage;
                action.microbatch = compute.microbatch;
            };
            if (producesInputGradient(op.kind)) add(even ? ActionKind::Reload : ActionKind::Recompute);
            all.push_back(compute);
            if (op.kind == OpKind::Forward && even) {
                add(ActionKind::Offload);
                add(ActionKind::WaitOffload);
            }
        }
        lowered.actions[r] = std::move(all);
    }
    return lowered;
}

RunConfig configOf(const LoweredSchedule& lowered) {
    RunConfig config;
    config.schedule = lowered.order;
    config.actions = lowered.actions;
    config.model.width = 8;
    config.model.heads = 2;
    config.model.sequence = 6;
    config.model.batch = 2;
    config.steps = 2;
    config.paced = false;
    return config;
}

Schedule orderOf(const std::string& family, int vpp) {
    return makeSchedule({family, "", 4, 8, vpp}).value();
}

TEST(ActivationMoves, TrainToTheReferencesBitsWithThePredictedMemory) {
    for (const auto& [family, vpp] :
         {std::pair{"1f1b", 1}, {"interleaved", 2}, {"zb-h1", 1}, {"zb-v", 2}, {"fthenb", 1}}) {
        SCOPED_TRACE(family);
        const LoweredSchedule lowered = movesOf(orderOf(family, vpp));
        const RunConfig config = configOf(lowered);
        JobControl control;
        const auto ran = runPipeline(config, control);
        ASSERT_TRUE(ran.ok()) << ran.error().text();
        RunConfig plain = config;
        plain.actions.clear();
        const auto reference = runReference(plain);
        ASSERT_TRUE(reference.ok()) << reference.error().text();
        EXPECT_EQ(ran.value().weights_digest, reference.value().weights_digest);
        EXPECT_EQ(ran.value().losses, reference.value().losses);

        MemoryModel model = memoryModelOf(config.model, config.schedule);
        for (StageMemory& stage : model.stages)
            stage.forward_workspace = stage.backward_workspace = 0; // the run counts what it keeps between ops
        CostModel costs;
        costs.times = makeOpTimes(TimeNs{2}, TimeNs{4}, {}, {}).value();
        const LoweredSchedule whole = withTransfers(lowered);
        const LoweredStep step = simulateLowered(whole, costs, {}).value();
        const auto predicted = loweredMemory(whole, step, model);
        const auto without = memoryUse(config.schedule, model);
        const auto unmoved = runPipeline(plain, control);
        ASSERT_TRUE(unmoved.ok());
        for (std::size_t r = 0; r < predicted.size(); ++r) {
            const auto fixed = static_cast<double>(without[r].fixed());
            const auto measured = static_cast<double>(ran.value().memory[r].activations) + fixed;
            EXPECT_NEAR(static_cast<double>(predicted[r].peak) / measured, 1, 0.03) << "rank " << r;
        }
        EXPECT_LT(ran.value().memory[0].activations, unmoved.value().memory[0].activations);
    }
}

TEST(ActivationMoves, TakeTimeInPacedRuns) {
    // One rank, recomputing each micro-batch: 4 · (F + F + B) instead of 4 · (F + B).
    const LoweredSchedule lowered = [] {
        LoweredSchedule made = withoutActions(makeSchedule({"1f1b", "", 1, 4, 1}).value());
        std::vector<Action> all;
        for (const Action& compute : made.actions[0]) {
            if (producesInputGradient(made.order.ranks[0][static_cast<std::size_t>(compute.op)].kind)) {
                all.push_back(compute);
                all.back().kind = ActionKind::Recompute;
                all.back().op = -1;
            }
            all.push_back(compute);
        }
        made.actions[0] = all;
        return made;
    }();
    RunConfig config = configOf(lowered);
    config.paced = true;
    config.times.times = makeOpTimes(TimeNs{4'000'000}, TimeNs{8'000'000}, {}, {}).value();
    config.steps = 1;
    JobControl control;
    const auto began = std::chrono::steady_clock::now();
    const auto ran = runPipeline(config, control);
    ASSERT_TRUE(ran.ok()) << ran.error().text();
    EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(64));
}

TEST(ActivationMoves, AreRefusedWhereTheyCannotRun) {
    const LoweredSchedule lowered = movesOf(orderOf("1f1b", 1));
    JobControl control;
    const auto why = [&control](const RunConfig& config) {
        const auto ran = runPipeline(config, control);
        return ran.ok() ? std::string() : ran.error().text();
    };
    RunConfig config = configOf(lowered);
    config.tensor_ranks = 2;
    EXPECT_NE(why(config).find("cannot also"), std::string::npos);
    config = configOf(lowered);
    for (Action& action : config.actions[0])
        action.peer = action.kind == ActionKind::Offload ? std::int16_t{3} : std::int16_t{-1};
    EXPECT_NE(why(config).find("cannot move activations to another rank"), std::string::npos);
    config = configOf(lowered);
    std::erase_if(config.actions[0], [](const Action& action) { return action.kind == ActionKind::Reload; });
    EXPECT_NE(why(config).find("runs while its activations are offloaded"), std::string::npos);
}

} // namespace
} // namespace bubblescope::runtime
