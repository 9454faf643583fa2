#include "tests/cli/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace bubblescope::test {
namespace {

const nlohmann::json& workIn(const nlohmann::json& document, const std::string& kind) {
    static const nlohmann::json none;
    const auto& works = document["works"];
    const auto found = std::ranges::find_if(works, [&](const auto& work) { return work["kind"] == kind; });
    return found == works.end() ? none : *found;
}

TEST(FillCommand, TriesWorkInASchedulesBubbles) {
    const ScratchFolder scratch;
    const std::string kernels = scratch.write("kernels.txt", "# two kernels\n200us, 500us\n").string();
    const std::vector<std::string> words{"fill", "--schedule", "1f1b",  "--pp",         "4",    "--microbatches",
                                         "8",    "--forward",  "10ms",  "--backward",   "20ms", "--encoder",
                                         "4ms",  "--side-job", kernels, "--checkpoint", "10MB", "--copy-bandwidth",
                                         "1GB/s"};
    auto json = words;
    json.emplace_back("--json");
    const auto result = runProgram(json);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    EXPECT_FALSE(document["recorded"].get<bool>());
    EXPECT_EQ(document["step_time_ns"], 330'000'000);
    EXPECT_EQ(document["idle_ns"], 4 * 90'000'000LL); // (p − 1)(t_f + t_b) on each rank
    EXPECT_EQ(workIn(document, "encoder")["placed"], 8);
    EXPECT_EQ(workIn(document, "checkpoint")["time_ns"], 4 * 10'000'000);
    EXPECT_GT(workIn(document, "weight-gradients")["gain_ns"].get<std::int64_t>(), 0);
    for (const auto& work : document["works"]) {
        EXPECT_EQ(work["delay_ns"], 0) << work["kind"];
        EXPECT_TRUE(work["worth"].get<bool>()) << work["kind"];
    }
    auto csv = words;
    csv.emplace_back("--csv");
    const auto lines = runProgram(csv);
    EXPECT_EQ(lines.out.substr(0, 14), "rank,position,");
    EXPECT_NE(lines.out.find(",side-job,"), std::string::npos);
}

TEST(FillCommand, TakesTheStepsOfATrace) {
    const ScratchFolder scratch;
    const std::string trace = scratch.file("trace");
    ASSERT_EQ(runProgram({"run", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4", "--steps", "6", "--forward",
                          "1ms", "--backward", "2ms", "--out", trace})
                  .exit_code,
              0);
    const auto result = runProgram({"fill", trace, "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    EXPECT_TRUE(document["recorded"].get<bool>());
    EXPECT_GE(document["steps"].get<int>(), 1);
    EXPECT_EQ(runProgram({"fill", trace, "--step", "2-3", "--json"}).json()["steps"], 2);
}

TEST(FillCommand, NamesWhatIsWrong) {
    const ScratchFolder scratch;
    const std::vector<std::string> step{"fill", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4"};
    const auto with = [&](std::vector<std::string> more) {
        std::vector<std::string> words = step;
        words.insert(words.end(), more.begin(), more.end());
        return runProgram(words);
    };
    EXPECT_EQ(runProgram({"fill"}).exit_code, 2);
    EXPECT_EQ(runProgram({"fill", scratch.file("none")}).exit_code, 3);
    EXPECT_EQ(with({"--checkpoint", "1GB"}).exit_code, 2);
    EXPECT_EQ(with({"--encoder", "soon"}).exit_code, 2);
    EXPECT_EQ(with({"--side-job", scratch.file("none")}).exit_code, 3);
    const auto kernels = with({"--side-job", scratch.write("k.txt", "1ms\nlong\n").string()});
    EXPECT_EQ(kernels.exit_code, 3);
    EXPECT_NE(kernels.err.find("line 2"), std::string::npos) << kernels.err;
    const auto long_kernel = with({"--side-job", scratch.write("l.txt", "1s\n").string(), "--json"});
    EXPECT_NE(workIn(long_kernel.json(), "side-job")["reason"].get<std::string>().find("too short"), std::string::npos);
}

} // namespace
} // namespace bubblescope::test
