#include "tests/cli/program.h"

#include <gtest/gtest.h>

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
        const auto result = runProgram(run(schedule, vpp, {"--sequence-slices", "2", "--out", scratch.file("trace")}));
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

TEST(RunCommand, EqualStageListsTrainToEqualWeights) {
    const auto digest = [](const std::vector<std::string>& words) {
        return runProgram(words).json()["training"]["weights_digest"].get<std::string>();
    };
    const std::string reference = digest(run("fthenb", "1", {"--no-pace"}));
    EXPECT_EQ(digest(run("1f1b", "1", {"--no-pace"})), reference);
    EXPECT_EQ(digest(run("1f1b", "1", {"--no-pace"})), reference) << "a second run of the same";
    EXPECT_NE(digest(run("1f1b", "1", {"--no-pace", "--seed", "2"})), reference);
}

TEST(RunCommand, TakesASchedulesFile) {
    const ScratchFolder scratch;
    const auto order = runProgram({"schedule", "--schedule", "dualpipe", "--pp", "2", "--microbatches", "4", "--json"});
    ASSERT_EQ(order.exit_code, 0) << order.err;
    const std::string file = scratch.write("order.json", order.out).string();
    const auto result =
        runProgram({"run", "--schedule-file", file, "--steps", "2", "--no-pace", "--json", "--rows", "8"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.json()["schedule"]["schedule"], "dualpipe");
    EXPECT_EQ(result.json()["trace"]["problems"].size(), 0U);
}

TEST(RunCommand, SaysHowManyRowsSlicesNeed) {
    const auto result = runProgram(run("seq1f1b", "1", {"--no-pace", "--sequence-slices", "9", "--rows", "8"}));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find("give 9 rows or more"), std::string::npos) << result.err;
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
