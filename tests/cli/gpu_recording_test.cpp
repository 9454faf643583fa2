// Recordings of GPUs, read by the commands: our own recordings, made on an H200 (tests/data/recordings).

#include "tests/cli/program.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace bubblescope::test {
namespace {

std::string recording(const std::string& name) {
    return (dataDir() / "recordings" / name).string();
}

std::map<std::string, std::int64_t> categoriesOf(const nlohmann::json& info) {
    std::map<std::string, std::int64_t> counts;
    for (const auto& file : info.at("files")) {
        for (const auto& [category, count] : file.at("by_category").items())
            counts[category] += count.get<std::int64_t>();
    }
    return counts;
}

TEST(GpuRecording, OfARunThatChecksItself) {
    const nlohmann::json run = runProgram({"analyze", "--json", recording("h200-checked-run")}).json();
    EXPECT_EQ(run.at("schedule").at("schedule"), "zb-h1");
    EXPECT_EQ(run.at("trace").at("backend"), "cuda");
    EXPECT_TRUE(run.at("trace").at("problems").empty());
    // CUPTI's kernels and CUDA's events are independent witnesses of when ops ran.
    const nlohmann::json& timing = run.at("trace").at("kernel_timing");
    EXPECT_EQ(timing.at("ops"), 3 * 2 * (2 * 3 + 1));
    EXPECT_EQ(timing.at("by_events"), 0);
    EXPECT_LT(timing.at("farthest_ns"), 10'000);
    for (const auto& step : run.at("steps")) {
        if (step.at("index") == 0) continue; // its checks load code
        const double expected = step.at("expected_bubble_rate");
        EXPECT_NEAR(step.at("bubble_rate").get<double>(), expected, 0.01) << "step " << step.at("index");
    }
    const nlohmann::json& checks = run.at("aadiff").at("checks");
    std::map<std::string, int> equal;
    for (const auto& [kind, counts] : checks.items()) {
        equal[kind] = counts.at("equal");
        EXPECT_EQ(counts.at("mismatched"), 0) << kind;
    }
    EXPECT_EQ(
        equal,
        (std::map<std::string, int>{
            {"elsewhere", 0}, {"known-answer", 7}, {"replay", 3}, {"replicas", 0}, {"transfer", 12}, {"weights", 10}}));
}

TEST(GpuRecording, HasEachRanksKernels) {
    const auto counts = categoriesOf(runProgram({"info", "--json", recording("h200-checked-run")}).json());
    EXPECT_EQ(counts.at("op"), 42);
    EXPECT_EQ(counts.at("kernel") + counts.at("gpu_memcpy") + counts.at("gpu_memset"), 1576) << "as the run counted";
    EXPECT_EQ(counts.at("cuda_runtime") + counts.at("cuda_driver"), 2489);
}

/// PyTorch's ranges and kernels, recorded by `record --pipeline` without a change of the job.
TEST(GpuRecording, OfAJobOfPyTorch) {
    const std::string job = recording("h200-torch-job");
    const auto counts = categoriesOf(runProgram({"info", "--json", job}).json());
    EXPECT_EQ(counts.at("kernel"), 2384);
    EXPECT_EQ(counts.at("nvtx"), 4 * (1 + 4 * 8)) << "steps, and forwards of each stage and micro-batch";
    const nlohmann::json run = runProgram({"analyze", "--json", job}).json();
    EXPECT_EQ(run.at("schedule").at("microbatches"), 8);
    EXPECT_EQ(run.at("steps").at(0).at("set_aside"), "warm-up");
}

} // namespace
} // namespace bubblescope::test
