// Published training rates, compared with the plan's. The table that this prints is in
// resources/benchmarks/plan.md.
#include "core/cost/model_presets.h"
#include "core/plan/search.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace bubblescope::plan {
namespace {

/// A run as its authors state it. Lists with more than one entry, or none, are choices that they do not state.
struct Published {
    std::string source;
    std::string name;
    TransformerShape shape;
    DeviceSpec device;
    Precision precision = Precision::Bits16;
    int devices = 1;
    int batch = 1;
    Space space{};
    double rate = 0; ///< tokens per second and device
    double attention_share = Cluster().attention_share;
    double tensor_overlap = 0;
    double expert_overlap = 0;
    bool sends_once = false;
};

TransformerShape model(const std::string& name) {
    return modelPresetShape(name).value();
}

DeviceSpec device(const std::string& name) {
    return deviceNamed(name).value();
}

Space fixed(int tp, int cp, int pp, std::vector<int> vpp, std::vector<int> microbatch,
            TransformerShape::Recompute recompute, std::vector<Zero> zero,
            std::vector<std::string> schedules = {"1f1b", "interleaved"}) {
    Space space{};
    space.tp = {tp};
    space.cp = {cp};
    space.pp = {pp};
    space.vpp = std::move(vpp);
    space.microbatch = std::move(microbatch);
    space.recompute = {recompute};
    space.zero = std::move(zero);
    space.schedules = std::move(schedules);
    space.plans = 1;
    return space;
}

using enum TransformerShape::Recompute;

/// Narayanan et al. 2021, table 1: sequences of 2048, a vocabulary of 51200, all activations recomputed. Neither the
/// micro-batch nor v is stated. Its FLOPs are those of equation 3, recomputation included.
std::vector<Published> megatron2021() {
    struct Row {
        const char* model;
        int tp, pp, devices, batch;
        double teraflops;
    };
    constexpr Row kRows[] = {
        {"megatron-1.7b", 1, 1, 32, 512, 137},     {"megatron-3.6b", 2, 1, 64, 512, 138},
        {"megatron-7.5b", 4, 1, 128, 512, 142},    {"megatron-18b", 8, 1, 256, 1024, 135},
        {"megatron-39b", 8, 2, 512, 1536, 138},    {"megatron-76b", 8, 4, 1024, 1792, 140},
        {"megatron-145b", 8, 8, 1536, 2304, 148},  {"megatron-310b", 8, 16, 1920, 2160, 155},
        {"megatron-530b", 8, 35, 2520, 2520, 163}, {"megatron-1t", 8, 64, 3072, 3072, 163},
    };
    std::vector<Published> rows;
    for (const Row& row : kRows) {
        Published run;
        run.source = "Megatron 2021";
        run.name = row.model;
        run.shape = model(row.model);
        run.shape.flash_attention = false; // it came a year later
        run.device = device("a100");
        run.devices = row.devices;
        run.batch = row.batch;
        run.space = fixed(row.tp, 1, row.pp, {}, {}, Full, {Zero::None});
        const auto h = static_cast<double>(run.shape.hidden);
        const auto l = static_cast<double>(run.shape.layers);
        const double token = 96 * l * h * h * (1 + 2048 / (6 * h) + 51200 / (16 * l * h));
        run.rate = row.teraflops * 1e12 / token;
        rows.push_back(run);
    }
    return rows;
}

/// torchtitan's benchmarks/: llama3_h100_202412 (with torch.compile), asyncTP_llama3_h100_2025-06 and, on H200,
/// llama3-8b_h200_202506. Its attention was PyTorch's FlashAttention-2, which reaches 35 % of an H100's peak (Shah et
/// al. 2024, abstract). A pipeline divided the local batch into as many micro-batches as there are ranks
/// (pipelining_utils.py at commit 9dec370, the one that was measured).
std::vector<Published> torchtitan() {
    const auto row = [](const std::string& name, const std::string& preset, Precision precision, int devices, int batch,
                        Space space, double rate, double tensor_overlap = 0, std::int64_t sequence = 8192) {
        Published run{"torchtitan",     name, model(preset), device("h100-500w"), precision, devices, batch,
                      std::move(space), rate};
        run.shape.sequence = sequence;
        run.attention_share = 0.35 / device("h100").product_share;
        run.tensor_overlap = tensor_overlap;
        return run;
    };
    const auto fp8 = Precision::Fp8;
    const auto bf16 = Precision::Bits16;
    const std::vector<Zero> fsdp{Zero::Weights};
    const auto fsdp8b = [&](int cp, auto recompute, int b) { return fixed(1, cp, 1, {1}, {b}, recompute, fsdp); };
    const auto tp8 = [&](auto recompute, int b) { return fixed(8, 1, 1, {1}, {b}, recompute, fsdp); };
    const auto pp8 = [&](const char* schedule, int v) {
        return fixed(8, 1, 8, {v}, {4}, Full, {Zero::Optimizer}, {schedule});
    };
    std::vector<Published> rows{
        row("Llama 3.1 8B, FSDP 8", "llama3-8b", bf16, 8, 16, fsdp8b(1, Selective, 2), 6667),
        row("Llama 3.1 8B, FSDP 8, FP8", "llama3-8b", fp8, 8, 16, fsdp8b(1, Selective, 2), 8532),
        row("Llama 3.1 8B, FSDP 128", "llama3-8b", bf16, 128, 256, fsdp8b(1, Selective, 2), 6514),
        row("Llama 3.1 8B, FSDP 128, FP8", "llama3-8b", fp8, 128, 256, fsdp8b(1, Selective, 2), 8380),
        row("Llama 3.1 8B, FSDP 8, s 32768, FP8", "llama3-8b", fp8, 8, 8, fsdp8b(1, Full, 1), 3890, 0, 32768),
        row("Llama 3.1 8B, FSDP 4, CP 2, s 65536, FP8", "llama3-8b", fp8, 8, 4, fsdp8b(2, Full, 1), 2540, 0, 65536),
        row("Llama 3.1 8B, FSDP 2, CP 4, s 131072, FP8", "llama3-8b", fp8, 8, 2, fsdp8b(4, Full, 1), 1071, 0, 131072),
        row("Llama 3.1 8B, CP 8, s 262144, FP8", "llama3-8b", fp8, 8, 1, fsdp8b(8, Full, 1), 548, 0, 262144),
        row("Llama 3.1 8B, FSDP 8, TP 8", "llama3-8b", bf16, 64, 96, tp8(Selective, 12), 4378),
        row("Llama 3.1 8B, FSDP 8, TP 8, FP8", "llama3-8b", fp8, 64, 96, tp8(Selective, 12), 5078.1),
        row("Llama 3.1 70B, FSDP 32, TP 8", "llama3-70b", bf16, 256, 512, tp8(Full, 16), 597.3),
        row("Llama 3.1 70B, FSDP 32, TP 8, FP8", "llama3-70b", fp8, 256, 512, tp8(Full, 16), 829),
        row("Llama 3.1 70B, FSDP 32, async TP 8", "llama3-70b", bf16, 256, 512, tp8(Full, 16), 652.4, 1),
        row("Llama 3.1 70B, FSDP 32, async TP 8, FP8", "llama3-70b", fp8, 256, 512, tp8(Full, 16), 876, 1),
        row("Llama 3.1 405B, async TP 8, PP 8, FP8, 1F1B", "llama3-405b", fp8, 512, 256, pp8("1f1b", 1), 100, 1),
        row("Llama 3.1 405B, async TP 8, PP 8, FP8, interleaved", "llama3-405b", fp8, 512, 256, pp8("interleaved", 2),
            128, 1),
    };
    for (const int hosts : {4, 8}) {
        rows.push_back(row(fmt::format("Llama 3.1 8B, FSDP {}, FP8, H200", 8 * hosts), "llama3-8b", fp8, 8 * hosts,
                           16 * hosts, fsdp8b(1, Selective, 2), hosts == 4 ? 10938 : 10753));
        rows.back().device = device("h200");
    }
    return rows;
}

/// NeMo's docs/source/performance/performance_summary.md (24.07) and Megatron-Bridge's archive (25.09), FP8.
std::vector<Published> megatronCore() {
    const auto row = [](const std::string& name, const std::string& preset, int devices, int batch, Space space,
                        double rate) {
        Published run{"Megatron-core", name, model(preset), device("h100"), Precision::Fp8, devices, batch};
        run.space = std::move(space);
        run.rate = rate;
        return run;
    };
    const std::vector<Zero> one{Zero::Optimizer};
    return {
        row("GPT-3 175B, TP 4, PP 8, v 6, b 1", "gpt3-175b", 128, 256, fixed(4, 1, 8, {6}, {1}, None, one), 726),
        row("GPT-3 175B, TP 4, PP 8, v 6, b 2", "gpt3-175b", 512, 2048, fixed(4, 1, 8, {6}, {2}, None, one), 782),
        row("Llama 2 7B", "llama2-7b", 8, 128, fixed(1, 1, 1, {1}, {1}, None, one), 16847),
        row("Llama 2 13B, PP 4, v 10", "llama2-13b", 16, 128, fixed(1, 1, 4, {10}, {1}, None, one), 8646),
        row("Llama 2 70B, TP 4, PP 4, v 20", "llama2-70b", 64, 128, fixed(4, 1, 4, {20}, {1}, None, one), 1707),
        row("Llama 3 8B, CP 2", "llama3-8b", 8, 128, fixed(1, 2, 1, {1}, {1}, None, one), 12036),
        row("Llama 3 70B, TP 4, PP 4, CP 2, v 5", "llama3-70b", 64, 128, fixed(4, 2, 4, {5}, {1}, None, one), 1533),
        row("Llama 3 8B, FSDP 8", "llama3-8b", 8, 128, fixed(1, 1, 1, {1}, {1}, None, {Zero::Weights}), 14079),
        row("Llama 3 70B, TP 4, PP 8, v 5", "llama3-70b", 64, 128, fixed(4, 1, 8, {5}, {1}, None, one), 1619),
        row("Llama 3.1 405B, TP 8, PP 8, CP 2, v 8", "llama3-405b", 1024, 512, fixed(8, 2, 8, {8}, {1}, None, one),
            302),
    };
}

/// Megatron-Bridge, docs/performance-summary.md and -archive.md: tokens are spread evenly over the experts and none is
/// dropped. The recipes (src/megatron/bridge/perf_recipes) state how they are exchanged: by HybridEP, which sends a
/// token once to each host, or in all-to-alls that other micro-batches hide. DeepSeek-V3's last stage had no layers,
/// which plans do not make: it is planned with v = 2 instead of 4.
std::vector<Published> megatronExperts() {
    const auto row = [](const std::string& name, const std::string& preset, int devices, int batch, int tp, int pp,
                        int v, int ep, double rate, double overlap = 0) {
        Published run{"Megatron-core", name, model(preset), device("h100"), Precision::Fp8, devices, batch};
        run.space = fixed(tp, 1, pp, {v}, {1}, None, {Zero::Optimizer});
        run.space.ep = {ep};
        run.rate = rate;
        run.expert_overlap = overlap;
        return run;
    };
    std::vector<Published> rows{
        row("Qwen3 30B-A3B, EP 16", "qwen3-30b-a3b", 16, 1024, 1, 1, 1, 16, 8960),
        row("Qwen3 30B-A3B, PP 2, v 12, EP 8", "qwen3-30b-a3b", 16, 1024, 1, 2, 12, 8, 9058),
        row("Qwen3 235B-A22B, TP 2, PP 8, v 4, EP 32", "qwen3-235b-a22b", 256, 8192, 2, 8, 4, 32, 1712, 1),
        row("DeepSeek-V3, TP 2, PP 8, v 4, EP 64", "deepseek-v3", 1024, 8192, 2, 8, 2, 64, 1297),
    };
    rows[0].sends_once = rows[3].sends_once = true;
    return rows;
}

/// AMD's results as Primus' projection quotes them (docs_deprecated/tech_blogs/projection).
std::vector<Published> primus() {
    const auto row = [](const std::string& name, const std::string& preset, Precision precision, int batch, Space space,
                        double rate) {
        return Published{"Primus", name, model(preset), device("mi325x"), precision, 64, batch, space, rate};
    };
    return {
        row("Llama 3.1 8B, FP8, b 2", "llama3-8b", Precision::Fp8, 128,
            fixed(1, 1, 1, {1}, {2}, None, {Zero::Optimizer}), 16186),
        row("Llama 3.1 70B, FSDP 64, FP8, b 4", "llama3-70b", Precision::Fp8, 256,
            fixed(1, 1, 1, {1}, {4}, Full, {Zero::Weights}), 1726),
        row("Llama 3.1 70B, FSDP 64, BF16, b 1", "llama3-70b", Precision::Bits16, 64,
            fixed(1, 1, 1, {1}, {1}, Full, {Zero::Weights}), 1174),
    };
}

/// Tokens per second and device, and GiB of the fullest rank.
struct Predicted {
    double rate = 0;
    double memory = 0;
    int microbatch = 0;
    int vpp = 0;
};

Predicted predict(const Published& run) {
    Problem problem;
    problem.shape = run.shape;
    problem.cluster.device = run.device;
    problem.cluster.device.memory *= 2; // whether it fits is another column
    problem.cluster.devices = run.devices;
    problem.cluster.precision = run.precision;
    problem.cluster.attention_share = run.attention_share;
    problem.cluster.tensor_overlap = run.tensor_overlap;
    problem.cluster.expert_overlap = run.expert_overlap;
    problem.cluster.sends_once = run.sends_once;
    problem.global_batch = run.batch;
    const auto found = search(Judge(problem), run.space, {});
    if (!found.ok()) {
        ADD_FAILURE() << run.name << ": " << found.error().text();
        return {};
    }
    const Plan& plan = found.value().plans.front();
    const double memory = static_cast<double>(plan.memory.peak() + problem.cluster.reserved);
    return {plan.tokens_per_second / run.devices, memory / (1 << 30), plan.layout.microbatch, plan.layout.vpp};
}

/// Prints a table's rows; returns the errors.
std::vector<double> compare(const std::vector<Published>& runs) {
    std::vector<double> errors;
    for (const Published& run : runs) {
        const Predicted predicted = predict(run);
        errors.push_back(predicted.rate / run.rate - 1);
        std::puts(fmt::format("| {} | {} | {:.5g} | {:.5g} | {:+.0f} % | {:.0f} GiB | {} | {} |", run.name, run.devices,
                              run.rate, predicted.rate, 100 * errors.back(), predicted.memory, predicted.microbatch,
                              predicted.vpp)
                      .c_str());
    }
    return errors;
}

double meanError(const std::vector<double>& errors) {
    double sum = 0;
    for (const double error : errors)
        sum += std::abs(error);
    return sum / static_cast<double>(errors.size());
}

// None of the model's constants was fitted to these runs. The limits are what it reaches, rounded up.

TEST(PublishedRuns, OfMegatronOnA100) {
    const std::vector<double> errors = compare(megatron2021());
    EXPECT_LT(meanError(errors), 0.13);
    EXPECT_LT(std::abs(*std::ranges::max_element(errors)), 0.2);
}

TEST(PublishedRuns, OfMegatronCoreOnH100) {
    const std::vector<double> errors = compare(megatronCore());
    EXPECT_LT(meanError(errors), 0.12);
    EXPECT_LT(std::abs(*std::ranges::max_element(errors)), 0.35);
}

TEST(PublishedRuns, OfPrimusOnMi325x) {
    EXPECT_LT(meanError(compare(primus())), 0.12);
}

TEST(PublishedRuns, OfTorchtitan) {
    const std::vector<double> errors = compare(torchtitan());
    EXPECT_LT(meanError(errors), 0.2);
    const std::vector<Published> runs = torchtitan();
    EXPECT_GT(predict(runs[15]).rate, predict(runs[14]).rate); // interleaved before 1F1B
}

TEST(PublishedRuns, OfModelsWithExperts) {
    EXPECT_LT(meanError(compare(megatronExperts())), 0.6);
}

} // namespace
} // namespace bubblescope::plan
