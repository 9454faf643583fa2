// A schedule of the user's own, from a file: every command that takes one, in both formats, sound and damaged.

#include "tests/cli/program.h"

#include <gtest/gtest.h>

namespace bubblescope::test {
namespace {

// 1F1B on two ranks, but rank 1 takes the micro-batches in the other order: no family's, and sound.
constexpr const char* kJson = R"({"ranks":[[["F",0,0],["F",1,0],["B",0,0],["B",1,0]],
                                          [["F",1,0],["F",0,0],["B",1,0],["B",0,0]]]})";
constexpr const char* kCsv = "0F0,0F1,,,0B0,0B1\r\n,,1F1,1F0,1B1,1B0\r\n";

TEST(CustomSchedule, EveryCommandTakesEitherFormat) {
    const ScratchFolder scratch;
    for (const std::string& file :
         {scratch.write("own.json", kJson).string(), scratch.write("own.csv", kCsv).string()}) {
        const auto valid = runProgram({"validate", file, "--json"});
        ASSERT_EQ(valid.exit_code, 0) << valid.err;
        EXPECT_TRUE(valid.json()["valid"].get<bool>());

        const auto step = runProgram(
            {"simulate", "--schedule-file", file, "--forward", "1ms", "--backward", "2ms", "--json", "--ops"});
        ASSERT_EQ(step.exit_code, 0) << step.err;
        EXPECT_EQ(step.json()["schedule"], "custom");
        EXPECT_EQ(step.json()["makespan_ns"], 12'000'000); // rank 0 waits for B0, rank 1's last
        EXPECT_EQ(step.json()["ops"].size(), 8U);
        EXPECT_GT(step.json()["bubble_rate"].get<double>(), 0);

        const auto shown = runProgram({"schedule", "--schedule-file", file, "--json"});
        ASSERT_EQ(shown.exit_code, 0) << shown.err;
        EXPECT_EQ(shown.json()["ranks"], nlohmann::json::parse(kJson)["ranks"]);
        const auto chart = runProgram({"schedule", "--schedule-file", file});
        EXPECT_NE(chart.out.find("rank 1 | "), std::string::npos) << chart.out;
        const auto csv = runProgram({"schedule", "--schedule-file", file, "--csv"});
        EXPECT_EQ(csv.out, "0F0,0F1,0B0,0B1\r\n1F1,1F0,1B1,1B0\r\n");
    }
}

TEST(CustomSchedule, TheoryKnowsAFileThatEqualsAFamily) {
    const ScratchFolder scratch;
    const auto family = runProgram({"schedule", "--schedule", "1f1b", "--pp", "3", "--microbatches", "5", "--csv"});
    ASSERT_EQ(family.exit_code, 0);
    const std::string file = scratch.write("1f1b.csv", family.out).string();
    const auto step =
        runProgram({"simulate", "--schedule-file", file, "--forward", "1ms", "--backward", "2ms", "--json"});
    EXPECT_EQ(step.json()["makespan_ns"], (5 + 2) * 3'000'000);
    // Forms belong to families; for a file without a family the answer refers to another command.
    const auto formula = runProgram({"formula", "--schedule-file", scratch.write("own.json", kJson).string()});
    EXPECT_NE(formula.exit_code, 4);
    EXPECT_FALSE(formula.out.empty() && formula.err.empty());
}

/// The file, and a part of the line that must name what is wrong with it.
struct Damage {
    const char* name;
    const char* text;
    const char* says;
};

TEST(CustomSchedule, DamagedFilesAreRefusedWithThePlace) {
    const ScratchFolder scratch;
    const std::vector<Damage> files{
        {"empty.json", "", "empty.json"},
        {"cut.json", R"({"ranks":[[["F",0,0],)", "byte"},
        {"text.json", "hello", "not valid JSON"},
        {"list.json", "[1,2]", "not a JSON object"},
        {"kind.json", R"({"ranks":[[["X",0,0]]]})", "ranks[0][0]: unknown kind \"X\""},
        {"short.json", R"({"ranks":[[["F"]]]})", "ranks[0][0] does not name a micro-batch"},
        {"negative.json", R"({"ranks":[[["F",-1,0]]]})", "ranks[0][0][1] is -1"},
        {"huge.json", R"({"ranks":[[["F",2000000000,0]]]})", "100 million"},
        {"placement.json", R"({"placement":"ring","ranks":[[["F",0,0],["B",0,0]]]})", "unknown placement"},
        {"junk.csv", "0F0,0F0x\n", "line 1, column 2: '0F0x' is not an op"},
        {"short.csv", "0F0,0F\n", "line 1, column 2: '0F' is not an op"},
        {"pair.csv", "0F0,(0F1;0B0)\n", "line 1, column 2"},
        {"few.csv", "0F99999", "pp, vpp and microbatches require 100000 forwards, but the lists contain 1 ops"},
        {"places.csv", "0F0,0B0\n2F0,2B0\n3F0,3B0\n", "neither in a loop"},
    };
    for (const Damage& damage : files) {
        const std::string file = scratch.write(damage.name, damage.text).string();
        for (const auto& words :
             {std::vector<std::string>{"validate", file}, std::vector<std::string>{"simulate", "--schedule-file", file},
              std::vector<std::string>{"formula", "--schedule-file", file},
              std::vector<std::string>{"schedule", "--schedule-file", file}}) {
            const auto result = runProgram(words);
            EXPECT_EQ(result.exit_code, 3) << damage.name << " " << words.front() << result.err;
            EXPECT_NE(result.err.find(damage.says), std::string::npos) << words.front() << ": " << result.err;
            EXPECT_NE(result.err.find(damage.name), std::string::npos) << result.err;
            EXPECT_TRUE(result.out.empty()) << result.out;
        }
    }
}

/// Readable, but no schedule: `validate` lists every problem, the other commands name the first.
TEST(CustomSchedule, UnsoundOrdersAreToldInWords) {
    const ScratchFolder scratch;
    const std::vector<Damage> files{
        {"missing.csv", "0F0,0B0\n1F0\n", "rank 1 never runs B0"},
        {"twice.csv", "0F0,0F0,0B0\n1F0,1B0\n", "F0.0 on rank 0 repeats F0.0 on rank 0"},
        {"half.csv", "0F0,0I0\n1F0,1B0\n", "which its I op requires"},
        {"both.csv", "0F0,0B0,0W0\n1F0,1B0\n", "repeats half of"},
        {"early.csv", "0F0,0B0\n1B0,1F0\n", "waits for F0.0 on rank 1, which comes after it"},
        {"gap.csv", "0F0,0F5,0B0,0B5\n1F0,1F5,1B0,1B5\n", "never runs F1"},
        {"cycle.json",
         R"({"ranks":[[["F",0,0],["B",0,0],["F",1,0],["B",1,0]],[["F",1,0],["F",0,0],["B",1,0],["B",0,0]]]})",
         "B0.0 on rank 0 waits for B0.0 on rank 1; F1.0 on rank 1 waits for F1.0 on rank 0"},
        {"pair.json", R"({"ranks":[[["F",0,0,"o"],["B",0,0]]]})", "its other half is not next to it"},
    };
    for (const Damage& damage : files) {
        const std::string file = scratch.write(damage.name, damage.text).string();
        const auto verdict = runProgram({"validate", file});
        EXPECT_EQ(verdict.exit_code, 3) << damage.name;
        EXPECT_NE(verdict.out.find(damage.says), std::string::npos) << damage.name << ": " << verdict.out;
        const auto json = runProgram({"validate", file, "--json"}).json();
        EXPECT_FALSE(json["valid"].get<bool>());
        EXPECT_FALSE(json["problems"].empty());
        const auto step = runProgram({"simulate", "--schedule-file", file, "--json"});
        EXPECT_EQ(step.exit_code, 3) << damage.name;
        EXPECT_FALSE(step.err.empty());
        EXPECT_TRUE(step.out.empty());
    }
}

/// PyTorch 2.14.1's 1F1B generator numbers the last rank's micro-batches from 1; its own validation refuses that, too.
TEST(CustomSchedule, PyTorchsOffByOneIsTold) {
    const ScratchFolder scratch;
    const std::string csv =
        scratch.write("1f1b.csv", "0F0,,,0F1,0B0,0F2,0B1,,0B2\n,1F1,1B0,1F2,1B1,1F3,1B2\n").string();
    const auto verdict = runProgram({"validate", csv});
    EXPECT_EQ(verdict.exit_code, 3);
    EXPECT_NE(verdict.out.find("rank 1 never runs F0.0"), std::string::npos) << verdict.out;
    EXPECT_NE(verdict.out.find("rank 0 never runs F3.0"), std::string::npos) << verdict.out;
}

TEST(CustomSchedule, PaddlesStaticVppWithARemainderShowsItsCycle) {
    const ScratchFolder scratch;
    const auto order = runProgram({"schedule", "--schedule", "vpp", "--flavor", "paddle-static", "--pp", "4",
                                   "--microbatches", "5", "--vpp", "3", "--json"});
    ASSERT_EQ(order.exit_code, 0) << order.err;
    const auto verdict = runProgram({"validate", scratch.write("vpp.json", order.out).string()});
    EXPECT_EQ(verdict.exit_code, 3);
    EXPECT_NE(verdict.out.find("deadlock: "), std::string::npos) << verdict.out;
    EXPECT_NE(verdict.out.find(" waits for "), std::string::npos) << verdict.out;
}

} // namespace
} // namespace bubblescope::test
