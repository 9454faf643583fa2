#include "tests/cli/program.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace bubblescope::test {
namespace {

const std::vector<std::string> kPlan{"aadiff", "plan", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8"};

ProgramResult plan(std::vector<std::string> more) {
    std::vector<std::string> words = kPlan;
    words.insert(words.end(), more.begin(), more.end());
    return runProgram(words);
}

TEST(AadiffPlanCommand, CountsTheSlotsOf1F1B) {
    const auto document = plan({"--layers", "4", "--json", "--steps"}).json();
    ASSERT_EQ(document["ranks"].size(), 4U);
    for (int s = 0; s < 4; ++s) {
        const auto& rank = document["ranks"][static_cast<std::size_t>(s)];
        const auto& counts = rank["slot_counts"];
        EXPECT_EQ(counts["before warm-up"], s);
        EXPECT_EQ(counts["between warm-up and steady"], 4 - s - 1);
        EXPECT_EQ(counts["between steady and cool-down"], 4 - s - 1);
        EXPECT_EQ(counts["after cool-down"], s);
        EXPECT_EQ(counts["total"], 6);
        EXPECT_EQ(rank["units"], 8);
        EXPECT_EQ(rank["steps"].size(), rank["steps_to_full"].get<std::size_t>());
        for (const auto& check : rank["steps"][0])
            EXPECT_LE(check["end_ns"], rank["slots"][check["slot"].get<std::size_t>()]["end_ns"]);
    }
    EXPECT_GT(document["with_slack"]["coverable"], 0.99);
}

TEST(AadiffPlanCommand, NamesWhatIsNeverChecked) {
    const auto whole = plan({"--margin", "1000"});
    EXPECT_EQ(whole.exit_code, 0);
    EXPECT_NE(whole.out.find("Never checked"), std::string::npos) << whole.out;
    EXPECT_NE(whole.out.find("rank 0: F of chunk 0; B of chunk 0"), std::string::npos) << whole.out;
}

TEST(AadiffPlanCommand, RefusesWrongUsage) {
    EXPECT_EQ(plan({"--layers", "0"}).exit_code, 2);
    EXPECT_EQ(plan({"--latency", "soon"}).exit_code, 2);
    EXPECT_EQ(plan({"--steps"}).exit_code, 2) << "only with --json";
    EXPECT_EQ(runProgram({"aadiff"}).exit_code, 2);
}

ProgramResult checkedRun(std::vector<std::string> more) {
    std::vector<std::string> words{"aadiff",    "run", "--schedule", "1f1b", "--pp",    "3", "--microbatches", "6",
                                   "--forward", "2ms", "--backward", "4ms",  "--steps", "2", "--layers",       "2"};
    words.insert(words.end(), more.begin(), more.end());
    return runProgram(words);
}

#ifdef BUBBLESCOPE_WITH_CHECKS
TEST(AadiffRunCommand, FindsAFlipSaysSoAndKeepsTheTensors) {
    const ScratchFolder folder;
    const auto fine = checkedRun({"--json", "--out", folder.file("clean")});
    ASSERT_EQ(fine.exit_code, 0) << fine.err;
    EXPECT_TRUE(fine.json()["aadiff_plan"]["steps_to_full"].is_number());
    ASSERT_EQ(fine.json()["aadiff_plan"]["steps"].size(), 2U);
    for (const auto& step : fine.json()["aadiff_plan"]["steps"]) {
        EXPECT_GT(step["planned"], 0);
        EXPECT_EQ(step["mismatched"], 0);
        EXPECT_EQ(step["planned"].get<int>(),
                  step["done"].get<int>() + step["aborted"].get<int>() + step["skipped"].get<int>());
    }
    EXPECT_EQ(fine.err.find("aadiff:"), std::string::npos) << fine.err;

    const auto found = checkedRun({"--inject", "flip:F2,rank=1,step=1,tensor=in,bit=40", "--out", folder.file("flip")});
    EXPECT_EQ(found.exit_code, 0) << found.err;
    EXPECT_NE(found.err.find("step 1, rank 1, F2.0 of layer"), std::string::npos) << found.err;
    EXPECT_NE(found.err.find("received data differs from the sent data"), std::string::npos) << found.err;

    const auto sticky = checkedRun(
        {"--inject", "flip:F,rank=1,layer=3,tensor=hidden,bit=40,stay=sticky", "--out", folder.file("sticky")});
    EXPECT_NE(sticky.err.find("of layer 3, hidden: "), std::string::npos) << sticky.err;
    EXPECT_NE(sticky.err.find("suspect the hardware"), std::string::npos) << sticky.err;
    EXPECT_TRUE(std::filesystem::exists(folder.file("sticky") + "/mismatches"));

    EXPECT_EQ(checkedRun({"--inject", "flip:F2,rank=1,step=1,tensor=in,bit=40", "--on-mismatch", "stop"}).exit_code, 4);
    EXPECT_EQ(checkedRun({"--inject", "flip:F2,rank=1,layer=99,bit=4"}).exit_code, 2);
    EXPECT_EQ(checkedRun({"--inject", "flip:F2,rank=1,tensor=hidden,bit=4"}).exit_code, 2) << "which layer";
    EXPECT_EQ(checkedRun({"--aadiff-memory", "much"}).exit_code, 2);
}
#else
TEST(AadiffRunCommand, IsRefusedByAProgramWithoutChecks) {
    const auto refused = checkedRun({});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("this program was built without checks in bubbles"), std::string::npos) << refused.err;
}
#endif

} // namespace
} // namespace bubblescope::test
