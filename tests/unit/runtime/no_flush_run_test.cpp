// Runs without a flush against a plain program that applies the same delayed updates, and the optimizers.

#include "core/families/registry.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/model/update_rules.h"
#include "tests/unit/runtime/trained_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace bubblescope::runtime {
namespace {

using Rule = OptimizerConfig::Rule;

RunConfig updatingConfig(const char* family, const char* flavor, int p, int group, int updates) {
    ScheduleSpec spec{family, flavor, p, group * updates, 1};
    spec.group_size = group;
    RunConfig config;
    config.schedule = makeSchedule(spec).value();
    config.model.width = 8;
    config.model.sequence = 6;
    config.steps = 2;
    config.paced = false;
    return config;
}

TEST(NoFlushRun, EqualsAPlainProgramWithDelayedUpdates) {
    for (const Rule rule : {Rule::AdamW, Rule::Sgd, Rule::Muon}) {
        for (RunConfig config :
             {updatingConfig("pipedream-2bw", "", 4, 3, 5), updatingConfig("pipedream-2bw", "", 2, 1, 7),
              updatingConfig("pipedream", "stashing", 4, 1, 9), updatingConfig("pipedream", "stashing", 3, 2, 4),
              updatingConfig("pipedream", "vertical-sync", 4, 1, 9),
              updatingConfig("pipedream", "vertical-sync", 3, 2, 4)}) {
            SCOPED_TRACE(scheduleTitle(config.schedule));
            config.model.optimizer.rule = rule;
            config.model.optimizer.learning_rate = 0.01F;
            const RunSummary ran = test::expectTheReferencesWeights(config);
            EXPECT_EQ(ran.losses.size(), static_cast<std::size_t>(config.steps * ran.updates_per_step));
        }
    }
}

/// An update trains on the data of the step of that number, so one rank trains as 1F1B does.
TEST(NoFlushRun, OneRankTrainsAs1F1B) {
    RunConfig async = updatingConfig("pipedream-2bw", "", 1, 3, 5);
    async.steps = 1;
    RunConfig flushed = async;
    flushed.schedule = makeSchedule({"1f1b", "", 1, 3, 1}).value();
    flushed.steps = 5;
    EXPECT_EQ(test::trained(async).weights_digest, test::trained(flushed).weights_digest);
    EXPECT_EQ(test::trained(async).losses, test::trained(flushed).losses);
}

TEST(NoFlushRun, TwoRanksTrainWithDelay) {
    RunConfig async = updatingConfig("pipedream-2bw", "", 2, 3, 5);
    async.steps = 1;
    RunConfig flushed = async;
    flushed.schedule = makeSchedule({"1f1b", "", 2, 3, 1}).value();
    flushed.steps = 5;
    const RunSummary late = test::trained(async);
    const RunSummary prompt = test::trained(flushed);
    EXPECT_EQ(late.losses[0], prompt.losses[0]);
    EXPECT_NE(late.losses[2], prompt.losses[2]);
    EXPECT_NE(late.weights_digest, prompt.weights_digest);
}

TEST(NoFlushRun, HoldsTwoVersionsOfTheWeights) {
    const RunSummary two = test::trained(updatingConfig("pipedream-2bw", "", 3, 3, 4));
    const RunSummary one = test::trained(updatingConfig("1f1b", "", 3, 3, 4));
    const RunSummary stashed = test::trained(updatingConfig("pipedream", "", 3, 1, 12));
    for (std::size_t r = 0; r < 3; ++r) {
        EXPECT_EQ(two.memory[r].weights, 2 * one.memory[r].weights);
        EXPECT_EQ(stashed.memory[r].weights, static_cast<std::int64_t>(3 - r) * one.memory[r].weights);
    }
}

TEST(NoFlushRun, RefusesWhatItCannotCombine) {
    const auto refused = [](RunConfig config, const char* text) {
        JobControl control;
        const Result<RunSummary> ran = runPipeline(config, control);
        ASSERT_FALSE(ran.ok());
        EXPECT_NE(ran.error().text().find(text), std::string::npos) << ran.error().text();
    };
    RunConfig replicas = updatingConfig("pipedream-2bw", "", 2, 2, 3);
    replicas.replicas = 2;
    refused(replicas, "data-parallel replicas");
    RunConfig muon = updatingConfig("1f1b", "", 2, 2, 1);
    muon.model.optimizer.rule = Rule::Muon;
    muon.tensor_ranks = 2;
    refused(muon, "Muon needs whole matrices");
    RunConfig uneven = updatingConfig("pipedream", "", 2, 1, 3);
    std::erase_if(uneven.schedule.ranks[1], [](const Op& op) { return op.kind == OpKind::Optimizer; });
    refused(uneven, "after the same micro-batches");
}

TEST(UpdateRules, SgdAddsTheMeanGradientToItsMomentum) {
    std::vector<float> values{1.0F, 2.0F};
    const std::vector<float> gradients{4.0F, -8.0F};
    std::vector<float> momentum{1.0F, 0.0F};
    stepSgd({values.data(), gradients.data(), momentum.data(), 2, 1}, {4.0F, 0.5F, 0.9F, 0.5F});
    EXPECT_EQ(momentum, (std::vector<float>{1.5F, -2.0F}));
    EXPECT_FLOAT_EQ(values[0], 0.9F - 0.75F);
    EXPECT_FLOAT_EQ(values[1], 1.8F + 1.0F);
}

/// The direction's singular values are near 1, whatever those of the gradient: its rows (or columns) are nearly
/// orthogonal and of one length.
TEST(UpdateRules, MuonMovesInAnOrthogonalDirection) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (const auto& [rows, columns] : {std::pair(6, 24), {24, 6}, {8, 8}}) {
        const auto size = static_cast<std::size_t>(rows * columns);
        std::vector<float> gradient(size);
        for (float& value : gradient)
            value = normal(random);
        std::vector<float> values(size);
        std::vector<float> momentum(size);
        stepMuon(*makeCpuQueue(), {values.data(), gradient.data(), momentum.data(), rows, columns},
                 {1.0F, 1.0F, 1.0F, 0.95F});
        const float scale = 0.2F * std::sqrt(static_cast<float>(std::max(rows, columns)));
        double trace = 0;
        for (const float value : values)
            trace += static_cast<double>(value) * static_cast<double>(value);
        // The squares of the singular values sum to the trace; the iteration leaves them between about 0.7 and 1.2.
        const double mean = trace / static_cast<double>(scale * scale) / std::min(rows, columns);
        EXPECT_GT(mean, 0.7 * 0.7) << rows;
        EXPECT_LT(mean, 1.2 * 1.2) << rows;
        double along = 0; // it descends
        for (std::size_t i = 0; i < size; ++i)
            along += static_cast<double>(values[i]) * static_cast<double>(gradient[i]);
        EXPECT_LT(along, 0);
    }
}

} // namespace
} // namespace bubblescope::runtime
