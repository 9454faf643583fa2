#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

namespace bubblescope::test {
namespace {

std::vector<std::string> run(const std::string& schedule, const std::string& vpp, std::vector<std::string> more) {
    std::vector<std::string> words{"run", "--schedule", schedule, "--pp",       "2",   "--microbatches", "4", "--vpp",
                                   vpp,   "--forward",  "1ms",    "--backward", "2ms", "--steps",        "2", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST(RunCommand, TrainsRecordsAndAccounts) {
    // Among them pairs of ops, two pipelines, and a sequence cut into slices.
    for (const auto& [schedule, vpp] : {std::pair{"fthenb", "1"},
                                        {"1f1b", "1"},
                                        {"interleaved", "2"},
                                        {"dualpipev", "2"},
                                        {"chimera", "2"},
                                        {"seq1f1b", "1"}}) {
        const ScratchFolder scratch;
        std::vector<std::string> options{"--out", scratch.file("trace")};
        if (schedule == std::string_view("seq1f1b")) options.insert(options.end(), {"--sequence-slices", "2"});
        const auto result = runProgram(run(schedule, vpp, options));
        ASSERT_EQ(result.exit_code, 0) << result.err;
        const auto document = result.json();
        EXPECT_EQ(document["schedule"]["schedule"], schedule);
        EXPECT_TRUE(document["trace"]["paced"].get<bool>());
        EXPECT_EQ(document["trace"]["ranks"], 2);
        ASSERT_EQ(document["steps"].size(), 2U);
        for (const auto& step : document["steps"]) {
            for (const auto& rank : step["ranks"]) {
                EXPECT_EQ(rank["busy_ns"].get<std::int64_t>() + rank["bubble_ns"].get<std::int64_t>(), step["wall_ns"]);
                EXPECT_TRUE(rank["expected_bubble_ns"].is_number());
            }
        }
        EXPECT_LT(document["training"]["losses"][1], document["training"]["losses"][0]);
        EXPECT_EQ(document["training"]["dropped_records"], 0);

        const auto again = runProgram({"analyze", scratch.file("trace"), "--json"});
        ASSERT_EQ(again.exit_code, 0) << again.err;
        EXPECT_EQ(again.json()["steps"], document["steps"]) << "the files say what the run said";
    }
}

TEST(RunCommand, KeepsTracesToTheirSize) {
    const ScratchFolder scratch;
    const std::filesystem::path trace = scratch.file("trace");
    constexpr int kSteps = 150;
    const auto result =
        runProgram({"run", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4", "--steps", std::to_string(kSteps),
                    "--no-pace", "--size", "64KiB", "--out", trace.string(), "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    ASSERT_FALSE(document["steps"].empty());
    EXPECT_LT(document["steps"].size(), kSteps) << "the oldest are gone";
    EXPECT_EQ(document["steps"].back()["index"], kSteps - 1);
    EXPECT_EQ(document["training"]["losses"].size(), kSteps);
    std::map<std::string, std::uintmax_t> bytes; // by rank
    for (const auto& file : std::filesystem::directory_iterator(trace))
        bytes[file.path().filename().string().substr(0, 5)] += file.file_size();
    EXPECT_EQ(bytes.size(), 2U);
    constexpr std::uintmax_t kBeginnings = 4096; // a slice may go over each part's border
    for (const auto& [rank, size] : bytes)
        EXPECT_LE(size, (std::uintmax_t{64} << 10) + kBeginnings) << rank;
    const auto again = runProgram({"analyze", trace.string(), "--json"});
    EXPECT_EQ(again.json()["steps"], document["steps"]);
    EXPECT_EQ(runProgram(run("1f1b", "1", {"--size", "1KiB"})).exit_code, 2);
}

TEST(RunCommand, EqualStageListsTrainToEqualWeights) {
    const auto digest = [](const std::vector<std::string>& words) {
        return runProgram(words).json()["training"]["weights_digest"].get<std::string>();
    };
    const std::string reference = digest(run("fthenb", "1", {"--no-pace"}));
    EXPECT_EQ(digest(run("1f1b", "1", {"--no-pace"})), reference);
    EXPECT_EQ(digest(run("1f1b", "1", {"--no-pace"})), reference) << "a second run of the same";
    EXPECT_NE(digest(run("1f1b", "1", {"--no-pace", "--seed", "2"})), reference);
}

TEST(RunCommand, TrainsWithStagesThatMove) {
    const auto train = [](const std::string& schedule, std::vector<std::string> more) {
        more.insert(more.begin(), {"run", "--schedule", schedule, "--pp", "3", "--microbatches", "5", "--forward",
                                   "1ms", "--backward", "2ms", "--steps", "2"});
        return runProgram(more);
    };
    const auto pipeline = train("1f1b", {"--json"}).json();
    for (const std::string name : {"weipipe", "weipipe-naive", "tawpipe", "roundpipe"}) {
        const auto ring = train(name, {"--json"});
        ASSERT_EQ(ring.exit_code, 0) << ring.err;
        const auto document = ring.json();
        EXPECT_EQ(document["schedule"], name);
        EXPECT_EQ(document["training"]["weights_digest"], pipeline["training"]["weights_digest"]);
        EXPECT_EQ(document["training"]["losses"], pipeline["training"]["losses"]);
        EXPECT_EQ(document["step_makespans_ns"].size(), 2U);
        EXPECT_GE(document["makespan_ns"], document["simulated_makespan_ns"]);
        EXPECT_EQ(document["ranks"].size(), 3U);

        const ScratchFolder scratch;
        const auto recorded = train(name, {"--json", "--out", scratch.file("trace")}).json();
        const auto analysed = runProgram({"analyze", scratch.file("trace"), "--json"}).json();
        EXPECT_EQ(analysed["schedule"]["schedule"], name);
        EXPECT_EQ(analysed["schedule"]["placement"], "moving");
        ASSERT_EQ(analysed["steps"].size(), 2U);
        for (std::size_t step = 0; step < 2; ++step)
            EXPECT_EQ(analysed["steps"][step]["wall_ns"], recorded["step_makespans_ns"][step]);
    }
    const auto split = train("weipipe-zb", {"--unshard", "100us", "--reduce-grad", "100us", "--json"}).json();
    EXPECT_NEAR(split["training"]["losses"][1], pipeline["training"]["losses"][1], 1e-4);
    EXPECT_GE(split["makespan_ns"], split["simulated_makespan_ns"]);
    const auto text =
        train("tawpipe", {"--nodes", "3", "--unshard", "100us", "--reduce-grad", "100us", "--comm", "50us"});
    EXPECT_THAT(text.out, testing::HasSubstr("; simulation: "));

    for (const std::vector<std::string>& words : {std::vector<std::string>{"--dp", "2"},
                                                  {"--tp", "2"},
                                                  {"--compare", "1f1b"},
                                                  {"--adapt"},
                                                  {"--comm", "1ms"},
                                                  {"--vpp", "2"},
                                                  {"--inject", "slow:rank=1,factor=2"}})
        EXPECT_EQ(train("weipipe", words).exit_code, 2) << words.front();
    EXPECT_EQ(train("1f1b", {"--unshard", "1ms"}).exit_code, 2);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"--reduce-grad", "1ms"}, {"--nodes", "2"}, {"--links", "x"}})
        EXPECT_NE(train("roundpipe", words).exit_code, 0) << words.front();
    EXPECT_EQ(train("roundpipe", {"--vpp", "2", "--comm", "100us", "--unshard", "1ms"}).exit_code, 0);
}

TEST(RunCommand, TrainsWithEncoders) {
    const ScratchFolder scratch;
    const auto train = [](std::vector<std::string> more) {
        more.insert(more.begin(),
                    {"run", "--schedule", "1f1b", "--pp", "5", "--encoders", "2:800us+1", "--microbatches", "4",
                     "--forward", "1ms", "--backward", "2ms", "--steps", "2", "--json"});
        return runProgram(more);
    };
    const auto result = train({"--out", scratch.file("trace")});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    EXPECT_EQ(document["trace"]["problems"].size(), 0U);
    ASSERT_EQ(document["steps"].size(), 2U);
    EXPECT_LT(document["training"]["losses"][1], document["training"]["losses"][0]);
    const auto again = runProgram({"analyze", scratch.file("trace"), "--json"});
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.json()["steps"], document["steps"]);
    EXPECT_EQ(again.json()["schedule"]["placement"], "encoders-2-1");
    EXPECT_EQ(train({"--no-pace"}).json()["training"]["weights_digest"], document["training"]["weights_digest"]);
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--adapt"}, {"--dispatch", "ready"}})
        EXPECT_EQ(train(words).exit_code, 2) << words.front();
}

TEST(RunCommand, TakesASchedulesFile) {
    const ScratchFolder scratch;
    const auto order = runProgram({"schedule", "--schedule", "dualpipe", "--pp", "2", "--microbatches", "4", "--json"});
    ASSERT_EQ(order.exit_code, 0) << order.err;
    const std::string file = scratch.write("order.json", order.out).string();
    const auto result =
        runProgram({"run", "--schedule-file", file, "--steps", "2", "--no-pace", "--json", "--sequence", "8"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.json()["schedule"]["schedule"], "dualpipe");
    EXPECT_EQ(result.json()["trace"]["problems"].size(), 0U);
}

std::vector<std::string> comparison(const std::string& names, std::vector<std::string> more) {
    std::vector<std::string> words{"run", "--compare",  names, "--pp",    "4", "--microbatches", "8", "--forward",
                                   "2ms", "--backward", "4ms", "--steps", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST(RunCommand, ComparesSchedulesOnOneModelAtEqualWork) {
    const ScratchFolder scratch;
    // With such a tolerance only the emulated clock determines how long ops take.
    const auto result = runProgram(comparison(
        "1f1b,interleaved,zb-h1,zb-v,dualpipev",
        {"--pace-tolerance", "1000s", "--json", "--out", scratch.file("traces"), "--svg", scratch.file("steps.svg")}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    ASSERT_EQ(document["schedules"].size(), 5U);
    const auto column = [&](const char* key) {
        std::vector<std::int64_t> values;
        for (const auto& schedule : document["schedules"])
            values.push_back(schedule[key].get<std::int64_t>());
        return values;
    };
    EXPECT_EQ(column("vpp"), (std::vector<std::int64_t>{1, 2, 1, 2, 2}));
    EXPECT_EQ(column("makespan_ns"),
              (std::vector<std::int64_t>{66'000'000, 57'000'000, 54'000'000, 51'000'000, 54'000'000}))
        << "with half the time an op where a rank has two chunks";
    const auto& first = document["schedules"][0]["run"]["training"];
    for (const auto& schedule : document["schedules"]) {
        EXPECT_EQ(schedule["run"]["training"]["weights_digest"], first["weights_digest"]);
        EXPECT_EQ(schedule["run"]["training"]["losses"], first["losses"]);
        EXPECT_GT(schedule["peak_memory_bytes"], 0);
    }
    EXPECT_TRUE(std::filesystem::exists(scratch.file("traces/zb-v-greedy/rank3.pftrace")));
    EXPECT_TRUE(std::filesystem::exists(scratch.file("steps.svg")));
}

TEST(RunCommand, ComparisonsSayWhereWeightsDifferAndWhatCannotBeCut) {
    const auto table = runProgram(comparison("1f1b,chimera", {"--no-pace"}));
    ASSERT_EQ(table.exit_code, 0) << table.err;
    EXPECT_NE(table.out.find("the last bits differ"), std::string::npos) << table.out;

    const auto uneven = runProgram(comparison("1f1b,interleaved", {"--no-pace", "--layers", "3"}));
    EXPECT_EQ(uneven.exit_code, 2);
    EXPECT_NE(uneven.err.find("use --layers 2"), std::string::npos) << uneven.err;

    const auto unknown = runProgram(comparison("1f1b,no-such", {"--no-pace"}));
    EXPECT_EQ(unknown.exit_code, 2);
    EXPECT_NE(unknown.err.find("no-such"), std::string::npos) << unknown.err;
}

TEST(RunCommand, SaysHowManyTokensSlicesNeed) {
    const auto result = runProgram(run("seq1f1b", "1", {"--no-pace", "--sequence-slices", "9", "--sequence", "8"}));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find("use 9 tokens or more"), std::string::npos) << result.err;
}

TEST(RunCommand, PlantsFaultsAndSaysSo) {
    const ScratchFolder scratch;
    const auto result = runProgram(run("1f1b", "1",
                                       {"--pace-tolerance", "1000s", "--inject", "slow:rank=1,factor=2", "--inject",
                                        "op:F0,rank=0,step=1,add=1ms", "--out", scratch.file("trace")}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    EXPECT_EQ(document["trace"]["planted_faults"], "slow:rank=1,factor=2 op:F0,rank=0,step=1,add=1ms");
    const auto& ranks = document["steps"][0]["ranks"];
    EXPECT_GT(2 * ranks[1]["busy_ns"].get<std::int64_t>(), 3 * ranks[0]["busy_ns"].get<std::int64_t>());

    const auto text = runProgram({"analyze", scratch.file("trace")});
    EXPECT_NE(text.out.find("Injected faults: slow:rank=1,factor=2"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("Pacing: on; ops take their nominal time on an emulated device clock\n  at most "),
              std::string::npos)
        << text.out;
}

TEST(RunCommand, RefusesAttentionByCudnnWhereItCannotRun) {
    const auto on_cpu = runProgram(run("1f1b", "1", {"--attention", "cudnn"}));
    EXPECT_EQ(on_cpu.exit_code, 2);
    EXPECT_NE(on_cpu.err.find("--attention needs a GPU"), std::string::npos) << on_cpu.err;
    const auto exact =
        runProgram(run("1f1b", "1", {"--backend", "cuda", "--precision", "fp32", "--attention", "cudnn"}));
    EXPECT_EQ(exact.exit_code, 2);
    EXPECT_NE(exact.err.find("--attention cudnn needs bf16"), std::string::npos) << exact.err;
    EXPECT_EQ(runProgram(run("1f1b", "1", {"--attention", "flash"})).exit_code, 2);
}

TEST(RunCommand, SaysWhereAFaultIsWrong) {
    const auto unknown = runProgram(run("1f1b", "1", {"--inject", "slow:rank=1,factor=2,speed=3"}));
    EXPECT_EQ(unknown.exit_code, 2);
    EXPECT_NE(unknown.err.find("character 22"), std::string::npos) << unknown.err;
    const auto beyond = runProgram(run("1f1b", "1", {"--inject", "slow:rank=2,factor=2"}));
    EXPECT_EQ(beyond.exit_code, 2);
    EXPECT_NE(beyond.err.find("there is no rank 2"), std::string::npos) << beyond.err;
    // The head of a model of two stages with a layer each is layer 3, and on rank 1.
    const auto elsewhere = runProgram(run("1f1b", "1", {"--aadiff", "--inject", "flip:B2,rank=0,bit=3,layer=3"}));
    EXPECT_EQ(elsewhere.exit_code, 2);
    EXPECT_NE(elsewhere.err.find("none of its ops runs layer 3"), std::string::npos) << elsewhere.err;
    EXPECT_EQ(runProgram(run("1f1b", "1", {"--aadiff", "--inject", "flip:B2,rank=1,bit=3,layer=3"})).exit_code, 0);
}

TEST(RunCommand, ADeadRankEndsTheRunWithFour) {
    const auto result = runProgram(run("1f1b", "1", {"--no-pace", "--inject", "die:rank=1,step=1,op=F2"}));
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_NE(result.err.find("rank 1, F2.0 of step 1"), std::string::npos) << result.err;
}

TEST(RunCommand, TrainsReplicas) {
    const auto result = runProgram(run("1f1b", "1", {"--no-pace", "--dp", "2"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.json()["training"]["peak_memory"].size(), 4U);
    EXPECT_EQ(result.json()["trace"]["files"].size(), 4U);
}

TEST(RunCommand, FailsWithFourWhereItCannotRecord) {
    const ScratchFolder scratch;
    const std::string blocked = scratch.write("file", "not a directory").string() + "/below";
    const auto result = runProgram(run("1f1b", "1", {"--no-pace", "--out", blocked}));
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_NE(result.err.find("below"), std::string::npos) << result.err;
}

} // namespace
} // namespace bubblescope::test
