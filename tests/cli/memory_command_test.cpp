// The memory that `memory` and `simulate` predict.

#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::test {
namespace {

TEST(MemoryCommand, PredictsRanksFromThePeaksOfTwo) {
    const std::vector<std::string> order{"memory", "--schedule", "1f1b", "--pp", "8", "--microbatches", "16"};
    auto words = order;
    words.insert(words.end(), {"--peaks", "1=95GiB,6=60GiB", "--json"});
    const auto result = runProgram(words);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto ranks = result.json()["ranks"]; // 7 GiB per micro-batch and 46 GiB
    EXPECT_EQ(ranks[0]["peak_bytes"], std::int64_t{102} << 30);
    EXPECT_EQ(ranks[7]["peak_bytes"], std::int64_t{53} << 30);
    EXPECT_EQ(ranks[7]["other_bytes"], std::int64_t{46} << 30);
    EXPECT_EQ(ranks[0]["peak_held"][0]["count"], 8);
    words.pop_back();
    EXPECT_NE(runProgram(words).out.find("8 × 7.00 GiB + 46.0 GiB"), std::string::npos);
    words = order;
    words.insert(words.end(), {"--peaks", "1:95GiB"});
    EXPECT_EQ(runProgram(words).exit_code, 2);
}

/// 1F1B with two ranks; rank 0 offloads micro-batch 1. The trace has the memory as a counter.
TEST(MemoryCommand, FollowsOffloadsIntoTraces) {
    const ScratchFolder scratch;
    const std::string order = scratch
                                  .write("order.json", R"({"ranks":[[["F",0],["F",1],["B",0],["B",1]],
[["F",0],["B",0],["F",1],["B",1]]],"lowered":[["0F0","0F1","0OFFLOAD1","0WAIT_OFFLOAD1","0B0","0RELOAD1","0B1"],
["1F0","1B0","1F1","1B1"]]})")
                                  .string();
    const std::string model =
        scratch.write("model.json", R"({"layers":[{"count":2,"parameters":1048576,"activation":"10MiB"}]})").string();
    const std::string out = scratch.file("step.json");
    const auto result = runProgram({"simulate", "--schedule-file", order, "--forward", "10ms", "--backward", "20ms",
                                    "--host-copy", "5ms", "--memory-model", model, "--out", out, "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto ranks = result.json()["ranks"];
    constexpr std::int64_t kMiB = 1 << 20;
    EXPECT_EQ(ranks[0]["memory"]["peak_bytes"], (16 + 20) * kMiB); // both are held until the copy has ended
    EXPECT_EQ(ranks[0]["memory"]["peak_op"], "F1.0");
    EXPECT_EQ(ranks[1]["memory"]["peak_bytes"], (16 + 10) * kMiB);
    EXPECT_EQ(result.json()["makespan_ns"],
              90'000'000); // nothing is delayed: the reload ends before B1's gradient comes
    EXPECT_EQ(ranks[0]["peak_activations"], 2);
    const auto estimated = runProgram({"memory", "--schedule-file", order, "--forward", "10ms", "--backward", "20ms",
                                       "--host-copy", "5ms", "--memory-model", model, "--json", "--curve"});
    ASSERT_EQ(estimated.exit_code, 0) << estimated.err;
    EXPECT_EQ(estimated.json()["ranks"][0]["peak_bytes"], (16 + 20) * kMiB);
    using Curve = std::vector<std::pair<std::int64_t, std::int64_t>>; // in ms and MiB
    Curve curve;
    const auto points = estimated.json()["ranks"][0]["curve"];
    for (const auto& point : points)
        curve.emplace_back(point[0].get<std::int64_t>() / 1'000'000, point[1].get<std::int64_t>() / kMiB);
    EXPECT_EQ(curve, (Curve{{0, 16}, {0, 26}, {10, 36}, {25, 26}, {60, 26}, {90, 16}}));
    EXPECT_EQ(runProgram({"validate", order, "--memory-limit", "2"}).exit_code, 2) << "it counts by the order alone";
    std::int64_t highest = 0;
    for (const auto& event : nlohmann::json::parse(readAll(out))) {
        if (event["ph"] == "C" && event["name"] == "memory" && event["pid"] == 1)
            highest = std::max(highest, event["args"].begin()->get<std::int64_t>());
    }
    EXPECT_EQ(highest, (16 + 20) * kMiB);
}

} // namespace
} // namespace bubblescope::test
