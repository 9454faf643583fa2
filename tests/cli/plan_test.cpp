#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/shared_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

std::vector<std::string> llama(std::vector<std::string> more = {}) {
    std::vector<std::string> words{"plan",  "--preset", "llama2-7b",      "--gpus", "16",
                                   "--gpu", "a100",     "--global-batch", "64"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST(PlanCommand, RatesWeightsThatTravel) {
    const auto planned = runProgram({"plan", "--preset", "llama3-8b", "--gpus", "16", "--gpu", "h100", "--global-batch",
                                     "256", "--pp", "4", "--schedule", "TawPipe,weipipe", "--json"})
                             .json();
    ASSERT_FALSE(planned["plans"].empty());
    for (const auto& plan : planned["plans"])
        EXPECT_TRUE(plan["schedule"] == "weipipe" || plan["schedule"] == "tawpipe") << plan["schedule"];
    EXPECT_EQ(runProgram({"plan", "--preset", "llama3-8b", "--gpus", "16", "--gpu", "h100", "--global-batch", "256",
                          "--schedule", "roundpipe"})
                  .exit_code,
              2);
}

TEST(PlanCommand, AddsTheMemoryCurveOfEachRank) {
    const test::ScratchFolder scratch;
    const std::string file = (scratch.path() / "best.pftrace").string();
    const auto document = runProgram(llama({"--json", "--curve", "--plans", "4", "--out", file})).json();
    ASSERT_EQ(document["plans"].size(), 4U);
    for (const auto& plan : document["plans"]) {
        const auto& ranks = plan["memory"]["ranks"];
        ASSERT_EQ(ranks.size(), plan["pp"].get<std::size_t>());
        std::vector<std::int64_t> peaks;
        for (const auto& rank : ranks) {
            std::int64_t peak = 0;
            std::int64_t last = 0;
            for (const auto& point : rank["curve"]) {
                EXPECT_GE(point[0].get<std::int64_t>(), last);
                last = point[0];
                peak = std::max(peak, point[1].get<std::int64_t>());
            }
            EXPECT_EQ(rank["curve"].front()[1], rank["curve"].back()[1]) << "a step leaves no activations";
            EXPECT_LE(last, plan["step_time_ns"].get<std::int64_t>());
            peaks.push_back(peak);
        }
        EXPECT_EQ(*std::ranges::max_element(peaks), plan["memory_bytes"].get<std::int64_t>());
        EXPECT_EQ(peaks.at(plan["memory"]["rank"].get<std::size_t>()), plan["memory_bytes"].get<std::int64_t>());
    }
    // The trace is that of the best plan.
    const auto written = runProgram({"analyze", "--json", file}).json();
    const auto& best = document["plans"][0];
    EXPECT_EQ(written["schedule"]["schedule"], best["schedule"]);
    EXPECT_EQ(written["schedule"]["microbatches"], best["microbatches"]);
    const auto without = runProgram(llama({"--json", "--plans", "1"})).json();
    EXPECT_FALSE(without["plans"][0]["memory"].contains("ranks"));
    EXPECT_EQ(runProgram(llama({"--curve"})).exit_code, 2) << "curves are printed only as JSON";
}

TEST(PlanCommand, PrintsPlansThatFillTheClusterAndFit) {
    const auto result = runProgram(llama({"--json"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    ASSERT_EQ(document["plans"].size(), 10U);
    std::int64_t last = document["bound_ns"].get<std::int64_t>();
    for (const auto& plan : document["plans"]) {
        EXPECT_EQ(plan["tp"].get<int>() * plan["cp"].get<int>() * plan["dp"].get<int>() * plan["pp"].get<int>(), 16);
        EXPECT_EQ(plan["dp"].get<int>() * plan["microbatch"].get<int>() * plan["microbatches"].get<int>(), 64);
        EXPECT_LE(plan["memory_bytes"].get<std::int64_t>(), std::int64_t{80} << 30U);
        EXPECT_GE(plan["step_time_ns"].get<std::int64_t>(), last);
        last = plan["step_time_ns"].get<std::int64_t>();
        const auto& memory = plan["memory"];
        std::int64_t held = 0;
        int activations = 0;
        for (const auto& pieces : memory["peak_held"]) {
            held += pieces["count"].get<int>() * pieces["bytes"].get<std::int64_t>();
            activations += pieces["count"].get<int>();
        }
        EXPECT_LE(held, memory["activations_bytes"].get<std::int64_t>());
        if (plan["schedule"] == "1f1b") { // before its first backward, rank r holds p - r forwards
            const int ahead = plan["pp"].get<int>() - memory["rank"].get<int>();
            EXPECT_EQ(activations, std::min(ahead, plan["microbatches"].get<int>()));
            EXPECT_LE(memory["peak_op"]["index"], 2 * plan["microbatches"].get<int>());
        }
        std::int64_t parts = 0;
        for (const auto& part : plan["parts"])
            parts += part.get<std::int64_t>();
        EXPECT_NEAR(static_cast<double>(parts), static_cast<double>(last), 100);
        // 64 sequences of 4096 tokens; FLOPs as the document states them, of 16 times 312 TFLOP/s.
        const double seconds = static_cast<double>(last) * 1e-9;
        EXPECT_NEAR(plan["tokens_per_second"].get<double>(), 64 * 4096 / seconds, 1);
        EXPECT_NEAR(plan["mfu"].get<double>(),
                    document["model"]["flops_per_token"].get<double>() * 64 * 4096 / seconds / 16 / 312e12, 1e-6);
    }
    EXPECT_EQ(document["judged"].get<int>() + document["ruled_out"].get<int>() <= document["considered"].get<int>(),
              true);
}

TEST(PlanCommand, KeepsToWhatIsFixed) {
    const auto result = runProgram(
        llama({"--tp", "2", "--pp", "4", "--schedule", "zb-v,1f1b", "--recompute", "full", "--zero", "0", "--csv"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("\n2,1,2,4,"));
    EXPECT_THAT(result.out, HasSubstr(",full,0,"));
    EXPECT_THAT(result.out, testing::Not(HasSubstr("interleaved")));
}

TEST(PlanCommand, RejectsWhatCannotBePlanned) {
    const auto refused = [](const std::vector<std::string>& words, const std::string& reason) {
        const auto result = runProgram(words);
        EXPECT_EQ(result.exit_code, 2) << reason;
        EXPECT_THAT(result.err, HasSubstr(reason));
    };
    refused({"plan", "--preset", "llama2-7b", "--gpus", "16", "--gpu", "a100"}, "the global batch");
    refused({"plan", "--preset", "llama2-7b", "--gpu", "a100", "--global-batch", "8"}, "the number of devices");
    refused({"plan", "--gpus", "8", "--gpu", "a100", "--global-batch", "8"}, "no model given");
    refused({"plan", "--preset", "llama2-7b", "--gpus", "8", "--gpu", "a101", "--global-batch", "8"}, "a100");
    refused({"plan", "--preset", "llama3-405b", "--gpus", "8", "--gpu", "a100", "--global-batch", "8"},
            "no layout fits");
    refused(llama({"--schedule", "dualpipe"}), "two copies");
    refused(llama({"--fp8"}), "does not support 8-bit");
    refused(llama({"--ep", "2"}), "a model without experts");
    refused(llama({"--top-k", "2"}), "a model without experts");
    refused(llama({"--experts", "8", "--expert-ffn", "64", "--top-k", "9"}), "the transformer's \"top_k\" is 9");
    refused(llama({"--from", "nowhere", "--tp", "2"}), "already defines the parallelism");
}

TEST(PlanCommand, DividesExpertsAmongTheRanksOfAStage) {
    const auto result = runProgram({"plan", "--preset", "mixtral-8x7b", "--sequence", "4096", "--gpus", "64", "--gpu",
                                    "h100", "--global-batch", "256", "--ep", "4,8", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    for (const auto& plan : result.json()["plans"]) {
        const int ep = plan["ep"].get<int>();
        EXPECT_TRUE(ep == 4 || ep == 8);
        EXPECT_EQ(plan["tp"].get<int>() * plan["cp"].get<int>() * plan["dp"].get<int>() % ep, 0);
        EXPECT_GE(plan["parts"]["experts_ns"].get<std::int64_t>(), 0);
    }
}

/// The reason of each framework that cannot shard the weights of a pipeline's stages.
TEST(PlanCommand, NamesWhoRejectsZero3InAPipeline) {
    const auto result = runProgram(llama({"--pp", "2", "--zero", "3", "--schedule", "1f1b"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("--use-megatron-fsdp"));
    EXPECT_THAT(result.out, HasSubstr("torchtitan: not possible: PyTorch's schedules keep"));
    EXPECT_THAT(result.out, HasSubstr("DeepSpeed: not possible: its pipeline engine rejects ZeRO 2 and 3"));
    EXPECT_THAT(result.out, HasSubstr("Paddle: not possible: its trainer rejects"));
}

TEST(PlanCommand, FromATraceGivesTheClosedFormAndWhatIfsAnswer) {
    const ScratchFolder scratch;
    const std::string trace = scratch.file("run.pftrace");
    ASSERT_EQ(runProgram({"simulate", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--forward", "4ms",
                          "--backward", "8ms", "--out", trace})
                  .exit_code,
              0);
    const auto result = runProgram({"plan", "--from", trace, "--schedule", "interleaved", "--vpp", "2", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto plans = result.json()["plans"];
    // (m + (p - 1) / v)(t_f + t_b) = 9.5 · 12 ms; with micro-batches of half the size (16 + 1.5) · 6 ms.
    ASSERT_EQ(plans.size(), 2U);
    EXPECT_EQ(plans[0]["step_time_ns"].get<std::int64_t>(), 105'000'000);
    EXPECT_EQ(plans[1]["step_time_ns"].get<std::int64_t>(), 114'000'000);
    const auto whatif = runProgram({"whatif", trace, "--if", "schedule=interleaved", "--if", "vpp=2", "--json"});
    EXPECT_EQ(whatif.json()["scenario"]["predicted_ns"], plans[1]["step_time_ns"]);
}

/// 1F1B of two ranks and four micro-batches: (4 + 1) · 300 ms. Llama 3 8B needs 3 · 17,156,800,512 FLOPs per token.
TEST(AnalyzeCommand, StatesMfuOfStepAndRanks) {
    const ScratchFolder scratch;
    const std::string trace = scratch.file("run.pftrace");
    ASSERT_EQ(runProgram({"simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4", "--forward", "100ms",
                          "--backward", "200ms", "--out", trace})
                  .exit_code,
              0);
    const std::vector<std::string> words{"analyze", trace, "--preset", "llama3-8b", "--global-batch", "4"};
    auto more = words;
    more.insert(more.end(), {"--tflops", "989", "--json"});
    const auto result = runProgram(more);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto mfu = result.json()["mfu"];
    const double flops = 3 * 17156800512.0 * 8192 * 4;
    EXPECT_NEAR(mfu["step"].get<double>(), flops / (2 * 989e12 * 1.5), 1e-6);
    EXPECT_EQ(mfu["devices"], 2);
    // Half of the layers each, and the head on rank 1.
    EXPECT_NEAR(mfu["ranks"][0].get<double>(), 3 * 8053063680.0 * 8192 * 4 / (989e12 * 1.5), 1e-6);
    EXPECT_NEAR(mfu["ranks"][1].get<double>(), 3 * 9103736832.0 * 8192 * 4 / (989e12 * 1.5), 1e-6);
    EXPECT_EQ(mfu["steps"].size(), 1U);
    EXPECT_THAT(runProgram(words).err, HasSubstr("does not name a known device"));
    EXPECT_THAT(runProgram({"analyze", trace, "--gpu", "h100"}).err, HasSubstr("MFU needs the model"));
}

TEST(AnalyzeCommand, KnowsThePeakByTheDevicesName) {
    const ScratchFolder scratch;
    const auto file = scratch.write("kineto.json", R"({"schemaVersion":1,
      "deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3","totalGlobalMem":1}],
      "traceEvents":[
      {"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":1000000},
      {"ph":"X","cat":"kernel","name":"sm90_gemm","pid":0,"tid":7,"ts":10,"dur":900000,"args":{"device":0,"stream":7}},
      {"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":1,"tid":1,"ts":1000000,"dur":1000000},
      {"ph":"X","cat":"kernel","name":"sm90_gemm","pid":0,"tid":7,"ts":1000010,"dur":900000,
       "args":{"device":0,"stream":7}}]})");
    const auto result =
        runProgram({"analyze", file.string(), "--preset", "gpt2-small", "--global-batch", "8", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    EXPECT_EQ(document["mfu"]["device"], "NVIDIA H100 SXM");
    EXPECT_EQ(document["mfu"]["peak_flops"], 989e12);
}

/// A real run with v = 1: the same model with v = 2 is predicted as `whatif` does.
TEST(PlanCommand, OutsidePredictsPrimusWithTwoChunks) {
    BUBBLESCOPE_NEED_TRACES("primus/pp8");
    const auto trace = sharedDir() / "traces/primus/pp8";
    const auto result =
        runProgram({"plan", "--from", trace.string(), "--schedule", "interleaved", "--vpp", "2", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto whatif =
        runProgram({"whatif", trace.string(), "--if", "schedule=interleaved", "--if", "vpp=2", "--json"}).json();
    bool found = false;
    const auto plans = result.json()["plans"];
    for (const auto& plan : plans) {
        if (plan["split"] != 1) continue;
        found = true;
        EXPECT_EQ(plan["step_time_ns"], whatif["scenario"]["predicted_ns"]);
        EXPECT_EQ(plan["error_bar_ns"], whatif["scenario"]["error_bar_ns"]);
    }
    EXPECT_TRUE(found);
}

} // namespace
} // namespace bubblescope::test
