#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace bubblescope::test {
namespace {

using Json = nlohmann::json;

std::int64_t sumOf(const Json& accounting) {
    std::int64_t sum = 0;
    for (const auto& [name, time] : accounting.items()) {
        EXPECT_TRUE(name.ends_with("_ns")) << name;
        sum += time.get<std::int64_t>();
    }
    return sum;
}

void expectExact(const Json& document) {
    ASSERT_FALSE(document["steps"].empty());
    for (const auto& step : document["steps"]) {
        const auto wall = step["wall_ns"].get<std::int64_t>();
        for (const auto& rank : step["ranks"])
            EXPECT_EQ(sumOf(rank["accounting"]), wall);
        std::int64_t length = step["ladder"]["ideal_ns"].get<std::int64_t>();
        for (const auto& rung : step["ladder"]["causes"])
            length += rung["adds_ns"].get<std::int64_t>();
        EXPECT_EQ(length, wall);
        const auto& path = step["critical_path"];
        EXPECT_EQ(path["ops_ns"].get<std::int64_t>() + path["transfers_ns"].get<std::int64_t>() +
                      path["delays_ns"].get<std::int64_t>(),
                  wall);
    }
}

TEST(Accounting, OfRealRunsIsExact) {
    for (const char* name :
         {"megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated.json", "bytedance-straggler/timeline-ST.json.gz",
          "torch-pp-cpu-gloo/1f1b_pp4_mb8", "torch-pp-cpu-gloo/zbv_pp2_mb4_v2"}) {
        if (!std::filesystem::exists(realTrace(name))) continue; // other people's
        const auto result = runProgram({"analyze", realTrace(name).string(), "--json"});
        ASSERT_EQ(result.exit_code, 0) << result.err;
        expectExact(result.json());
    }
}

TEST(AccountingOfOutsideTraces, NamesTheSlowChunkOfMegatron) {
    BUBBLESCOPE_NEED_TRACES("megatronapp-pp4");
    const auto file = realTrace("megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated.json");
    const auto document = runProgram({"analyze", file.string(), "--json"}).json();
    for (std::size_t i = 1; i < document["steps"].size(); ++i) { // the first pays for warm-up
        const auto& worst = document["steps"][i]["blame"]["ranking"][0];
        EXPECT_EQ(worst["kind"], "slow-stage");
        EXPECT_EQ(worst["rank"], 3);
        EXPECT_EQ(worst["chunk"], 3);
    }
}

TEST(Accounting, SetsASlowRankAndASlowLinkApart) {
    const ScratchFolder folder;
    const std::string trace = (folder.path() / "trace.pftrace").string();
    const std::string stages = (folder.path() / "stages.json").string();
    const std::string links = (folder.path() / "links.json").string();
    std::ofstream(stages) << R"({"stages":[{"forward":"1ms","backward":"2ms"},{"forward":"1ms","backward":"2ms"},)"
                             R"({"forward":"1500us","backward":"3ms"},{"forward":"1ms","backward":"2ms"}]})";
    std::ofstream(links) << R"({"links":[{"from":0,"to":1,"latency":"400us"}]})";
    const auto made = runProgram({"simulate", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--stage-times",
                                  stages, "--links", links, "--out", trace});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const auto document = runProgram({"analyze", trace, "--json"}).json();
    expectExact(document);
    const auto& ranks = document["steps"][0]["ranks"];
    EXPECT_GT(ranks[0]["accounting"]["imbalance_ns"], 8'000'000);
    EXPECT_LT(ranks[2]["accounting"]["imbalance_ns"], ranks[0]["accounting"]["imbalance_ns"]);
    EXPECT_GT(ranks[0]["accounting"]["exposed_communication_ns"], 0);
    for (const auto& rank : ranks)
        EXPECT_EQ(rank["accounting"]["schedule_bubble_ns"], rank["expected_bubble_ns"]);
    const auto& worst = document["steps"][0]["blame"]["ranking"][0];
    EXPECT_EQ(worst["kind"], "slow-stage");
    EXPECT_EQ(worst["rank"], 2);

    const std::string text = runProgram({"analyze", trace}).out;
    for (const char* part : {"Accounting (", "imbalance between stages", "exposed communication", "wall time",
                             "Critical path: ", "Causes of waiting (", "rank 2, chunk 0: slow stage"})
        EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(Accounting, FitsATerminal) {
    const ScratchFolder folder;
    const std::string trace = (folder.path() / "trace.pftrace").string();
    for (const char* p : {"2", "5", "16"}) {
        ASSERT_EQ(
            runProgram({"simulate", "--force", "--schedule", "1f1b", "--pp", p, "--microbatches", "16", "--forward",
                        "123456us", "--backward", "234567us", "--comm", "1234us", "--loss", "34567us", "--out", trace})
                .exit_code,
            0);
        const std::string text = runProgram({"analyze", trace}).out;
        std::istringstream lines(text.substr(text.find("\nAccounting (")));
        for (std::string line; std::getline(lines, line) && line.find("Op times") == std::string::npos;) {
            const auto characters =
                std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
            EXPECT_LE(characters, 100) << line;
        }
    }
}

} // namespace
} // namespace bubblescope::test
