#include "tests/cli/program.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

namespace bubblescope::test {
namespace {

std::string simulated(const ScratchFolder& folder, const std::string& name, const std::vector<std::string>& more,
                      const std::string& schedule = "1f1b") {
    const std::string file = (folder.path() / (name + ".pftrace")).string();
    std::vector<std::string> arguments{"simulate",       "--schedule", schedule,    "--pp", "4",
                                       "--microbatches", "8",          "--forward", "1ms",  "--comm",
                                       "100us",          "--out",      file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = runProgram(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return file;
}

TEST(DiffOfOutsideTraces, ARunEqualsItself) {
    BUBBLESCOPE_NEED_TRACES("megatronapp-pp4");
    const auto file = realTrace("megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated.json").string();
    const auto result = runProgram({"diff", file, file, "--json", "--least", "0", "--fail-on", "change"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    EXPECT_TRUE(document["tested"]);
    EXPECT_EQ(document["a"]["steps"], 19);
    EXPECT_GT(document["compared_groups"], 50);
    EXPECT_TRUE(document["changes"].empty());
    EXPECT_TRUE(document["ops"].empty());
    EXPECT_EQ(document["step"]["change_ns"], 0);
    EXPECT_NE(runProgram({"diff", file, file}).out.find("No other significant changes"), std::string::npos);
}

TEST(DiffCommand, ShowsUntestedDifferencesOfSingleSteps) {
    const ScratchFolder folder;
    const std::string a = simulated(folder, "a", {"--backward", "2ms"});
    const std::string b = simulated(folder, "b", {"--backward", "3ms"});
    const auto document = runProgram({"diff", a, b, "--json"}).json();
    EXPECT_FALSE(document["tested"]);
    // m + p - 1 = 11 backwards on the longest path, a millisecond more each.
    EXPECT_EQ(document["step"]["change_ns"], 11'000'000);
    ASSERT_FALSE(document["changes"].empty());
    EXPECT_EQ(document["changes"][0]["what"], "op-group");
    EXPECT_EQ(document["changes"][0]["kind"], "B");
    EXPECT_EQ(document["changes"][0]["change_ns"], 1'000'000);
    EXPECT_TRUE(document["changes"][0]["chance"].is_null());

    const auto text = runProgram({"diff", a, b});
    EXPECT_NE(text.out.find("Too few steps"), std::string::npos);
    // A change that was not tested is not a finding.
    EXPECT_EQ(runProgram({"diff", a, b, "--fail-on", "slower"}).exit_code, 0);
}

TEST(DiffCommand, FailsOnAnotherOrder) {
    const ScratchFolder folder;
    const std::string a = simulated(folder, "a", {"--backward", "2ms"});
    const std::string b = simulated(folder, "b", {"--backward", "2ms"}, "gpipe");
    const auto result = runProgram({"diff", a, b, "--fail-on", "order"});
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_NE(result.out.find("The order changed on"), std::string::npos);
}

TEST(DiffCommand, SaysWhichInputIsBad) {
    const ScratchFolder folder;
    const std::string a = simulated(folder, "a", {});
    const auto missing = runProgram({"diff", a, (folder.path() / "none.json").string()});
    EXPECT_EQ(missing.exit_code, 3);
    EXPECT_NE(missing.err.find("none.json"), std::string::npos);
    EXPECT_EQ(runProgram({"diff", a}).exit_code, 2);
    EXPECT_EQ(runProgram({"diff", a, a, "--alpha", "7"}).exit_code, 2);
}

} // namespace
} // namespace bubblescope::test
