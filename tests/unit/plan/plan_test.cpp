#include "core/cost/devices.h"
#include "core/cost/model_flops.h"
#include "core/cost/model_presets.h"
#include "core/plan/launch_settings.h"
#include "core/plan/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace bubblescope::plan {
namespace {

// ---- FLOPs and devices -----------------------------------------------------------------------------------

TEST(ModelFlops, OfGpt3AreThoseOfTheFormula) {
    const ForwardFlops flops = forwardFlops(modelPresetShape("gpt3-175b").value()).value();
    EXPECT_DOUBLE_EQ(flops.products, 24.0 * 12288 * 12288 * 96); // 24 h² per layer
    EXPECT_DOUBLE_EQ(flops.attention, 4831838208.0);             // 2 · 2048 · 12288 · 96
    EXPECT_DOUBLE_EQ(flops.head, 1235116032.0);                  // 2 · 12288 · 50257
    EXPECT_DOUBLE_EQ(trainingFlops(flops), 1061877915648.0);
}

TEST(ModelFlops, CountGroupedKeysAndGates) {
    const ForwardFlops flops = forwardFlops(modelPresetShape("llama3-8b").value()).value();
    // Per layer 2 · 4096 · (8192 + 2048) and 6 · 4096 · 14336.
    EXPECT_DOUBLE_EQ(flops.products, 32.0 * (83886080.0 + 352321536.0));
    EXPECT_DOUBLE_EQ(flops.attention, 2147483648.0);
    EXPECT_EQ(parameterCount(modelPresetShape("llama3-8b").value()).value(), 8'030'261'248); // as published
}

/// Parameters as the models' publications state them: 46.7, 30.5, 235 and 671 billion, and those that a token uses:
/// 12.9, 3.3, 22 and 37.
TEST(ModelFlops, CountExpertsThatATokenUses) {
    const auto check = [](const std::string& name, double billions, double active) {
        const TransformerShape shape = modelPresetShape(name).value();
        EXPECT_NEAR(static_cast<double>(parameterCount(shape).value()) * 1e-9, billions, 0.002 * billions) << name;
        const ForwardFlops flops = forwardFlops(shape).value();
        const double embedding = static_cast<double>(shape.vocabulary * shape.hidden);
        EXPECT_NEAR(((flops.products + flops.head) / 2 + embedding) * 1e-9, active, 0.02 * active) << name;
    };
    check("mixtral-8x7b", 46.7, 12.9);
    check("qwen3-30b-a3b", 30.5, 3.3);
    check("qwen3-235b-a22b", 235, 22);
    check("deepseek-v3", 671, 37.5);
}

TEST(Devices, AreKnownByTheirNamesInTraces) {
    EXPECT_EQ(deviceOfTrace("NVIDIA H100 80GB HBM3")->name, "h100");
    EXPECT_EQ(deviceOfTrace("NVIDIA A100-SXM4-80GB")->name, "a100");
    EXPECT_EQ(deviceOfTrace("AMD Instinct MI300X")->name, "mi300x");
    EXPECT_FALSE(deviceOfTrace("NVIDIA H100 PCIe").has_value()); // another peak
    EXPECT_FALSE(deviceOfTrace("NVIDIA GeForce RTX 4090").has_value());
    EXPECT_FALSE(deviceNamed("h1000").ok());
}

// ---- Times -----------------------------------------------------------------------------------------------

/// 1 GFLOP/s, and memory and links that take no time.
DeviceSpec slowDevice() {
    DeviceSpec device;
    device.name = "slow";
    device.flops = 1e9;
    device.product_share = 1;
    device.memory = std::int64_t{1} << 40U;
    device.memory_rate = 1e30;
    device.link = device.network = 1e30;
    return device;
}

/// Four layers in which every product's smallest dimension is 128: half of the products' rate.
Problem smallProblem(int devices, int batch) {
    Problem problem;
    problem.shape = {4, 128, 1, 0, 512, 128};
    problem.shape.flash_attention = true;
    problem.shape.dropout = false;
    problem.cluster.device = slowDevice();
    problem.cluster.devices = devices;
    problem.cluster.reserved = 0;
    problem.cluster.product_share = problem.cluster.attention_share = 1;
    problem.cluster.link_latency = problem.cluster.network_latency = 0;
    problem.global_batch = batch;
    return problem;
}

// A layer's products: 2 · 128 · 128 · (384 + 128 + 512 + 512) = 50,331,648 FLOPs at 0.5 GFLOP/s. Attention: half of
// 4 · 128³ = 4,194,304 at 1 GFLOP/s, and 2.5 times that backward.
constexpr double kProducts = 50331648 / 0.5e9;
constexpr double kAttention = 4194304 / 1e9;
constexpr double kLayer = 3 * kProducts + 3.5 * kAttention;

Layout onOneRank(int microbatches) {
    Layout layout;
    layout.microbatches = microbatches;
    layout.layers_per_stage = {4};
    return layout;
}

TEST(PlanTimes, OfOneRankAreMicrobatchesTimesLayers) {
    const Judge judge(smallProblem(1, 3));
    const Plan plan = judge.judge(onOneRank(3)).value();
    EXPECT_NEAR(static_cast<double>(plan.step.count()), 3 * 4 * kLayer * 1e9, 10);
    EXPECT_TRUE(plan.exact);
    EXPECT_EQ(plan.bubble_rate, 0);
    // MFU: the model's FLOPs over the peak. 3 · (products + attention) per sequence and layer.
    EXPECT_NEAR(plan.mfu, 3 * (50331648.0 + 4194304) / (kLayer * 1e9), 1e-6);
    EXPECT_NEAR(plan.tokens_per_second, 128 / (4 * kLayer), 1e-3);
}

TEST(PlanTimes, RecomputationAddsAForward) {
    const Judge judge(smallProblem(1, 3));
    Layout layout = onOneRank(3);
    layout.recompute = TransformerShape::Recompute::Full;
    const Plan plan = judge.judge(layout).value();
    EXPECT_NEAR(plan.parts.work.recompute, 3 * 4 * (kProducts + kAttention), 1e-6);
    EXPECT_NEAR(plan.parts.all(), static_cast<double>(plan.step.count()) * 1e-9, 1e-6);
}

TEST(PlanTimes, OfAPipelineAreTheClosedForms) {
    const Judge judge(smallProblem(2, 4));
    Layout layout = onOneRank(4);
    layout.pp = 2;
    layout.layers_per_stage = {2, 2};
    const Plan plan = judge.judge(layout).value();
    EXPECT_NEAR(static_cast<double>(plan.step.count()), (4 + 1) * 2 * kLayer * 1e9, 20); // (m + p - 1)(f + b)
    EXPECT_NEAR(plan.bubble_rate, 1.0 / 5, 1e-6);
    layout.schedule = "interleaved";
    layout.vpp = 2;
    layout.layers_per_stage = {1, 1, 1, 1};
    EXPECT_NEAR(static_cast<double>(judge.judge(layout).value().step.count()), (4 * 2 + 1) * kLayer * 1e9, 40);
}

/// Every layer has four experts, two per token; four data-parallel ranks.
Problem expertProblem() {
    Problem problem = smallProblem(4, 4);
    problem.shape.experts = {4, 2, 256};
    return problem;
}

Layout withExperts(int ep) {
    Layout layout = onOneRank(1);
    layout.dp = 4;
    layout.ep = ep;
    return layout;
}

// Attention's products: 2 · 128 · 128 · (384 + 128) FLOPs. The router's smallest dimension is 4. Each of the 128 tokens
// is computed by two experts, with two products of 2 · 128 · 256 FLOPs; a rank with one expert gets 256 tokens for it,
// one with four gets 64 for each.
constexpr double kOwnProducts = 16777216 / 0.5e9;
constexpr double kRouter = 131072 / (4.0 / 132 * 1e9);
constexpr double kExpertFlops = 128 * 2 * 2 * 65536;

TEST(PlanTimes, OfExpertsAreThoseOfTheTokensTheyGet) {
    const Judge judge(expertProblem());
    const auto compute = [&](int ep) { return judge.judge(withExperts(ep)).value().parts.work.compute; };
    const double rest = 3 * (kOwnProducts + kRouter) + 3.5 * kAttention;
    EXPECT_NEAR(compute(4), 4 * (rest + 3 * kExpertFlops / 0.5e9), 1e-6);
    EXPECT_NEAR(compute(1), 4 * (rest + 3 * kExpertFlops / (64.0 / 192 * 1e9)), 1e-6);
}

TEST(PlanTimes, ExpertsAreReachedByFourExchangesPerLayer) {
    Problem problem = expertProblem();
    problem.cluster.device.link = 1e9;
    problem.cluster.link_share = 1;
    problem.cluster.link_latency = 1e-3;
    // Two copies of 128 tokens of 256 bytes; of four ranks, three are others.
    const double exchange = 2e-3 + 0.75 * 65536 / 1e9;
    EXPECT_NEAR(Judge(problem).judge(withExperts(4)).value().parts.work.experts, 4 * 4 * exchange, 1e-9);
    EXPECT_EQ(Judge(problem).judge(withExperts(1)).value().parts.work.experts, 0);
    // Half of the forward's work, 0.07 s per layer, hides all; the rest of the test has slower links.
    problem.cluster.expert_overlap = 0.5;
    EXPECT_EQ(Judge(problem).judge(withExperts(4)).value().parts.work.experts, 0);
    problem.cluster.device.link = 1e4;
    const double slow = 2e-3 + 0.75 * 65536 / 1e4;
    const double work = 3 * (kOwnProducts + kRouter + kExpertFlops / 0.5e9) + 3.5 * kAttention;
    EXPECT_NEAR(Judge(problem).judge(withExperts(4)).value().parts.work.experts, 4 * (4 * slow - work / 2), 1e-6);
    EXPECT_FALSE(Judge(problem).judge(withExperts(3)).ok());
}

TEST(PlanTimes, ExchangesUseLinksAndNetworkAtOnce) {
    Cluster cluster;
    cluster.device = deviceNamed("h100").value();
    cluster.devices = 64;
    Layout layout;
    layout.dp = 64;
    layout.ep = 32;
    // 24 of 32 ranks are on other hosts: 75 % of 8 MB at 37.5 GB/s, while 7 in 32 go over the faster links.
    EXPECT_NEAR(expertLinks(cluster, layout).exchange(8e6, 8, false), 6e6 / 37.5e9 + 30e-6, 1e-9);
    // Sent once per host: three others, each of which has one of 8 experts with 1 - 0.75^8.
    const double once = 3 * (1 - std::pow(0.75, 8)) / 8;
    EXPECT_NEAR(expertLinks(cluster, layout).exchange(8e6, 8, true), once * 8e6 / 37.5e9 + 30e-6, 1e-9);
    layout.ep = 8;
    EXPECT_NEAR(expertLinks(cluster, layout).exchange(8e6, 8, false), 7e6 / 337.5e9 + 16e-6, 1e-9);
    EXPECT_EQ(expertDataLinks(cluster, layout).ranks, 8);
    EXPECT_NEAR(expertDataLinks(cluster, layout).rate, 37.5e9, 1); // one rank of the group per host
}

/// ZeRO 3 gathers a stage's weights for every forward and backward, in a pipeline too.
TEST(PlanTimes, ShardsOfStagesAreGatheredForEveryMicrobatch) {
    Problem problem = smallProblem(4, 8);
    problem.cluster.device.link = 1e6; // far slower than the products
    problem.cluster.link_share = 1;
    const Judge judge(problem);
    Layout layout = onOneRank(4);
    layout.pp = layout.dp = 2;
    layout.layers_per_stage = {2, 2};
    // Two layers of 12 · 128² + 13 · 128 parameters; half of them come from the other rank.
    const double parameters = 2 * (12 * 16384 + 13 * 128);
    layout.zero = Zero::Weights;
    const Plan three = judge.judge(layout).value();
    const double forward = parameters * 2 / 2 / 1e6;
    const double backward = parameters * (2 + 4) / 2 / 1e6;
    const double hidden = 2 * (kProducts + kAttention);
    const double hidden_back = 2 * (2 * kProducts + 2.5 * kAttention);
    const auto rest = [](double all, double behind) { return std::max(all - behind, all / 2); };
    EXPECT_NEAR(three.parts.work.shards, 4 * (rest(forward, hidden) + rest(backward, hidden_back)), 1e-6);
    EXPECT_EQ(three.parts.end.gradients + three.parts.end.weights, 0);
    EXPECT_EQ(three.memory.weights, static_cast<std::int64_t>(parameters));
    layout.zero = Zero::Gradients;
    const Plan two = judge.judge(layout).value();
    EXPECT_NEAR(two.parts.work.shards, 4 * rest(parameters * 4 / 2 / 1e6, hidden_back), 1e-6);
    EXPECT_EQ(two.memory.weights, static_cast<std::int64_t>(2 * parameters));
    EXPECT_EQ(two.memory.gradients, static_cast<std::int64_t>(2 * parameters));
}

TEST(PlanTimes, SelectiveRecomputationRepeatsEveryOtherProduct) {
    Problem problem = smallProblem(1, 1);
    problem.shape.swiglu = true;
    const Judge judge(problem);
    Layout layout = onOneRank(1);
    layout.recompute = TransformerShape::Recompute::Selective;
    // K's product, the output's and one of the two before the activation: 2 · 128 · 128 · (128 + 128 + 512).
    EXPECT_NEAR(judge.judge(layout).value().parts.work.recompute, 4 * 25165824 / 0.5e9, 1e-6);
}

TEST(PlanTimes, CollectivesTakeLatencyAndBytes) {
    Cluster cluster;
    cluster.device = deviceNamed("h100").value();
    cluster.devices = 64;
    Layout layout;
    layout.tp = 8;
    layout.dp = 8;
    // In the host: 7/8 of 8 GB at 75 % of 450 GB/s. Between hosts each rank has an adapter: 7/8 at 75 % of 50 GB/s.
    EXPECT_NEAR(tensorLinks(cluster, layout).gather(8e9), 7e9 / 337.5e9 + 8e-6 * 15 / 8, 1e-9);
    EXPECT_NEAR(dataLinks(cluster, layout).gather(8e9), 7e9 / 37.5e9 + 15e-6 * 15 / 8, 1e-9);
    layout.tp = 2; // four ranks of a group are on each host, with four adapters
    layout.dp = 32;
    EXPECT_NEAR(dataLinks(cluster, layout).rate, 150e9, 1);
}

// ---- Weights that travel ---------------------------------------------------------------------------------

Layout travelling(const char* schedule, int pp, int microbatches) {
    Layout layout;
    layout.schedule = schedule;
    layout.pp = pp;
    layout.microbatches = microbatches;
    layout.layers_per_stage.assign(static_cast<std::size_t>(pp), 4 / pp);
    return layout;
}

TEST(TravellingWeights, FillTheBubbleIfMessagesAreFree) {
    const Judge judge(smallProblem(2, 4));
    const Plan plan = judge.judge(travelling("weipipe", 2, 4)).value();
    EXPECT_NEAR(static_cast<double>(plan.step.count()), 2 * 4 * kLayer * 1e9, 10); // two rounds of four layers
    EXPECT_NEAR(plan.bubble_rate, 0, 1e-6);
    EXPECT_GT(judge.judge(travelling("1f1b", 2, 4)).value().bubble_rate, 0.1);
}

/// A turn of a ring sends two stages' weights and one stage's gradients, which take as long as two forwards.
TEST(TravellingWeights, CostTheirMessages) {
    Problem problem = smallProblem(2, 4);
    const Judge free(problem);
    const Pipeline pipeline = free.pipeline(travelling("weipipe", 2, 4)).value();
    const double forward = pipeline.stages.front().forward.all();
    const double bytes = pipeline.largest_stage * (2 + 2 + 4);
    EXPECT_NEAR(pipeline.largest_stage, 2 * (12 * 128 * 128 + 13 * 128), 2 * 128.0);
    problem.cluster.link_share = 1;
    problem.cluster.device.link = bytes / (2 * forward);
    const Judge slow(problem);
    const auto step = [](const Judge& judge) {
        return static_cast<double>(judge.judge(travelling("weipipe", 2, 4)).value().step.count()) * 1e-9;
    };
    const double all = step(slow) - step(free);
    EXPECT_GT(all, 2 * forward); // not all are hidden
    const PlanStep shown = slow.step(travelling("weipipe", 2, 4)).value();
    EXPECT_NEAR(static_cast<double>(shown.timeline.wall().count()) * 1e-9, step(slow), 1e-6);
    EXPECT_EQ(shown.schedule->name, "weipipe");
}

TEST(TravellingWeights, NeedBuffersAndOneMicrobatchOfTheWholeModel) {
    const Judge judge(smallProblem(2, 4));
    const MemoryModel plain = judge.memory(travelling("1f1b", 2, 4), Placement::Loop).value();
    const Plan plan = judge.judge(travelling("weipipe", 2, 4)).value();
    EXPECT_EQ(plan.memory.weights, 5 * plain.stages.front().weights);
    EXPECT_EQ(plan.memory.gradients, 3 * plain.stages.front().gradients);
    EXPECT_EQ(plan.memory.optimizer, plain.stages.front().optimizer);
    EXPECT_GE(plan.memory.peak_activations, 2 * plain.stages.front().activations.forward);
}

TEST(TravellingWeights, RejectLayoutsThatShardThem) {
    Problem problem = smallProblem(4, 4);
    const Judge judge(problem);
    Layout layout = travelling("weipipe", 2, 2);
    layout.dp = 2;
    EXPECT_TRUE(judge.judge(layout).ok());
    layout.zero = Zero::Gradients;
    EXPECT_FALSE(judge.judge(layout).ok());
    layout = travelling("tawpipe", 4, 4);
    EXPECT_TRUE(judge.judge(layout).ok());
    problem.cluster.device.per_host = 1; // nothing to broadcast to
    EXPECT_FALSE(Judge(problem).judge(layout).ok());
}

// ---- Memory ----------------------------------------------------------------------------------------------

TEST(PlanMemory, SharesStatesAmongReplicas) {
    Problem problem = smallProblem(4, 4);
    problem.shape.swiglu = true;
    const Judge judge(problem);
    Layout layout = onOneRank(1);
    layout.dp = 4;
    // Per layer 128 · (256 + 256) + 3 · 128 · 512 + 2 · 128 parameters.
    const std::int64_t parameters = 4 * (65536 + 196608 + 256);
    layout.zero = Zero::None;
    EXPECT_EQ(judge.judge(layout).value().memory.optimizer, 12 * parameters);
    layout.zero = Zero::Optimizer;
    EXPECT_EQ(judge.judge(layout).value().memory.optimizer, 3 * parameters);
    EXPECT_EQ(judge.judge(layout).value().memory.gradients, 4 * parameters);
    layout.zero = Zero::Weights;
    EXPECT_EQ(judge.judge(layout).value().memory.gradients, parameters);
    EXPECT_EQ(judge.judge(layout).value().memory.weights, 2 * parameters / 4);
}

TEST(PlanMemory, DividesExpertsAmongTheirRanks) {
    const Judge judge(expertProblem());
    // Per layer 4 · 128² + the router + norms and biases; an expert has 2 · 128 · 256 parameters.
    const std::int64_t rest = 4 * (4 * 16384 + 512 + 4 * 128 + 384 + 256);
    const std::int64_t expert = 4 * 65536;
    Layout layout = withExperts(4);
    EXPECT_EQ(judge.judge(layout).value().memory.weights, 2 * (rest + expert));
    EXPECT_EQ(judge.judge(layout).value().memory.optimizer, 12 * rest / 4 + 12 * expert);
    layout.ep = 2; // two replicas of each expert
    EXPECT_EQ(judge.judge(layout).value().memory.weights, 2 * (rest + 2 * expert));
    EXPECT_EQ(judge.judge(layout).value().memory.optimizer, 12 * rest / 4 + 12 * expert);
    layout.zero = Zero::Weights;
    EXPECT_EQ(judge.judge(layout).value().memory.weights, 2 * (rest / 4 + expert));
}

// ---- Search ----------------------------------------------------------------------------------------------

/// Llama 2's kind, small enough to judge every layout.
Problem mediumProblem(std::int64_t memory) {
    Problem problem;
    problem.shape = withDefaults({8, 2048, 16, 8, 5632, 2048, 1, 32000});
    problem.shape.swiglu = true;
    problem.shape.dropout = false;
    problem.shape.flash_attention = true;
    problem.cluster.device = deviceNamed("a100").value();
    problem.cluster.device.memory = memory;
    problem.cluster.devices = 16;
    problem.global_batch = 32;
    return problem;
}

Space everything() {
    Space space;
    space.schedules = {"1f1b",   "interleaved", "zb-h1",   "zb-v",       "zb-h2",  "v-half",
                       "fthenb", "looped-bfs",  "weipipe", "weipipe-zb", "tawpipe"};
    return space;
}

/// mediumProblem() with routed and shared experts in all but the first two layers.
Problem mediumExperts(std::int64_t memory) {
    Problem problem = mediumProblem(memory);
    problem.shape.experts = {16, 4, 1024, 1024, 2};
    return problem;
}

void compareWithJudgingAll(const Judge& judge, Space space) {
    const SearchResult pruned = search(judge, space, {}).value();
    space.prune = false;
    const SearchResult all = search(judge, space, {}).value();
    ASSERT_EQ(pruned.plans.size(), all.plans.size());
    for (std::size_t i = 0; i < all.plans.size(); ++i) {
        EXPECT_EQ(pruned.plans[i].step, all.plans[i].step) << "plan " << i;
        EXPECT_LE(pruned.plans[i].memory.peak(), judge.budget());
    }
    EXPECT_LT(pruned.judged, all.judged);
    EXPECT_EQ(all.ruled_out, 0U);
    EXPECT_LE(all.bound, all.plans.front().step);
    EXPECT_EQ(all.plans.size(), 10U);
}

TEST(PlanSearch, FindsWhatJudgingEveryLayoutFinds) {
    for (const std::int64_t gib : {7, 12, 80}) {
        SCOPED_TRACE(gib);
        compareWithJudgingAll(Judge(mediumProblem(gib << 30U)), everything());
    }
}

TEST(PlanSearch, FindsWhatJudgingEveryLayoutOfExpertsFinds) {
    Space space;
    space.schedules = {"1f1b", "interleaved", "zb-v"};
    space.microbatch = {1, 2};
    space.recompute = {TransformerShape::Recompute::None, TransformerShape::Recompute::Selective};
    for (const std::int64_t gib : {9, 80}) {
        SCOPED_TRACE(gib);
        compareWithJudgingAll(Judge(mediumExperts(gib << 30U)), space);
    }
}

/// Returns the number of layouts that were judged.
std::size_t checkBounds(const Judge& judge, const Space& space) {
    std::size_t judged = 0;
    const std::vector<Layout> all = layouts(judge, space).value();
    for (const Layout& layout : all) {
        const auto pipeline = judge.pipeline(layout);
        const auto plan = judge.judge(layout);
        if (!pipeline.ok() || !plan.ok()) continue;
        ++judged;
        const auto memory = judge.memory(layout, pipeline.value().placement).value();
        EXPECT_LE(judge.memoryBound(memory, layout, pipeline.value().placement), plan.value().memory.peak());
        EXPECT_LE(judge.bound(pipeline.value(), layout) * 1e9, static_cast<double>(plan.value().step.count()) + 2)
            << layout.schedule << " pp " << layout.pp << " v " << layout.vpp << " m " << layout.microbatches << " ep "
            << layout.ep << " ZeRO " << static_cast<int>(layout.zero);
    }
    return judged;
}

TEST(PlanSearch, NoLayoutIsShorterThanItsBound) {
    EXPECT_GT(checkBounds(Judge(mediumProblem(std::int64_t{400} << 30U)), everything()), 500U);
    Space space;
    space.microbatch = {1, 4};
    EXPECT_GT(checkBounds(Judge(mediumExperts(std::int64_t{400} << 30U)), space), 500U);
}

TEST(PlanSearch, SaysWhatIsMissingWhereNothingFits) {
    const Judge judge(mediumProblem(std::int64_t{4} << 30U)); // all of it is reserved
    const auto found = search(judge, {}, {});
    ASSERT_FALSE(found.ok());
    EXPECT_NE(found.error().message.find("a rank may hold"), std::string::npos);
    Problem odd = mediumProblem(std::int64_t{80} << 30U);
    odd.global_batch = 31;
    Space two;
    two.tp = {3}; // does not divide the heads
    EXPECT_FALSE(search(Judge(odd), two, {}).ok());
}

// ---- Frameworks ------------------------------------------------------------------------------------------

std::string valueOf(const LaunchSettings& launch, const std::string& name) {
    const auto found = std::ranges::find(launch.settings, name, &LaunchSettings::Setting::name);
    return found == launch.settings.end() ? "none" : found->value;
}

TEST(LaunchSettings, NameWhatEachFrameworkIsGiven) {
    const Problem problem = mediumProblem(std::int64_t{80} << 30U);
    Layout layout;
    layout.tp = 2;
    layout.dp = 2;
    layout.pp = 4;
    layout.vpp = 2;
    layout.microbatches = 16;
    layout.schedule = "interleaved";
    layout.layers_per_stage.assign(8, 1);
    const auto all = launchSettings(layout, problem);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(valueOf(all[0], "--tensor-model-parallel-size"), "2");
    EXPECT_EQ(valueOf(all[0], "--num-virtual-stages-per-pipeline-rank"), "2");
    EXPECT_EQ(valueOf(all[0], "--global-batch-size"), "32");
    EXPECT_EQ(valueOf(all[0], "--context-parallel-size"), "none");
    EXPECT_EQ(valueOf(all[1], "--parallelism.pipeline_parallel_schedule"), "Interleaved1F1B");
    EXPECT_EQ(valueOf(all[1], "--training.num_tokens_per_train_step"), "65536");
    EXPECT_FALSE(all[2].missing.empty()); // DeepSpeed has one chunk per rank
    EXPECT_EQ(valueOf(all[3], "--virtual_pp_degree"), "2");
    layout.zero = Zero::Weights;
    const auto sharded = launchSettings(layout, problem);
    EXPECT_EQ(valueOf(sharded[0], "--data-parallel-sharding-strategy"), "optim_grads_params");
    for (const std::size_t other : {1U, 2U, 3U})
        EXPECT_FALSE(sharded[other].missing.empty()) << sharded[other].framework;
    layout.zero = Zero::Optimizer;
    layout.schedule = "zb-v";
    EXPECT_FALSE(launchSettings(layout, problem)[0].missing.empty());
    EXPECT_EQ(valueOf(launchSettings(layout, problem)[1], "--parallelism.pipeline_parallel_schedule"), "ZBVZeroBubble");
}

TEST(LaunchSettings, NameTheExperts) {
    const Problem problem = mediumExperts(std::int64_t{80} << 30U);
    Layout layout;
    layout.dp = 16;
    layout.ep = 8;
    layout.microbatches = 2;
    layout.layers_per_stage = {8};
    const auto all = launchSettings(layout, problem);
    EXPECT_EQ(valueOf(all[0], "--num-experts"), "16");
    EXPECT_EQ(valueOf(all[0], "--expert-model-parallel-size"), "8");
    EXPECT_EQ(valueOf(all[0], "--moe-token-dispatcher-type"), "alltoall");
    EXPECT_EQ(valueOf(all[0], "--moe-layer-freq"), "([0]*2+[1]*6)");
    EXPECT_EQ(valueOf(all[0], "--moe-shared-expert-intermediate-size"), "1024");
    EXPECT_EQ(valueOf(all[1], "--parallelism.expert_parallel_degree"), "8");
    EXPECT_FALSE(all[2].missing.empty());
}

} // namespace
} // namespace bubblescope::plan
