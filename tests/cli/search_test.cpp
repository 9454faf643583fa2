#include "tests/cli/program.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace bubblescope::test {
namespace {

constexpr const char* kStages =
    "forward,input_grad,weight_grad\n10ms,9ms,11ms\n14ms,13ms,9ms\n8ms,12ms,6ms\n11ms,11ms,12ms\n";

std::vector<std::string> search(const std::string& stages, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"search", "--pp",     "4", "--microbatches", "8",  "--stage-times",
                                   stages,   "--rounds", "2", "--comm",         "1ms"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST(SearchCommand, FindsAnOrderThatSimulateAndValidateConfirm) {
    const ScratchFolder scratch;
    const std::string stages = scratch.write("stages.csv", kStages).string();
    for (const std::string& name : {std::string("order.json"), std::string("order.csv")}) {
        const std::string out = scratch.file(name);
        const auto result = runProgram(search(stages, {"--memory-limit", "3", "--out", out, "--json"}));
        ASSERT_EQ(result.exit_code, 0) << result.err;
        const auto found = result.json();
        const auto makespan = found["makespan_ns"].get<std::int64_t>();
        EXPECT_GE(makespan, found["bound_ns"].get<std::int64_t>());
        EXPECT_FALSE(found["reason"].get<std::string>().empty());
        EXPECT_LE(makespan, found["best_family"]["makespan_ns"].get<std::int64_t>());
        EXPECT_EQ(found["schedule"]["ranks"].size(), 4U);
        for (const auto& peak : found["peak_activations"])
            EXPECT_LE(peak.get<int>(), 3);
        const auto step =
            runProgram({"simulate", "--schedule-file", out, "--stage-times", stages, "--comm", "1ms", "--json"});
        ASSERT_EQ(step.exit_code, 0) << step.err;
        EXPECT_EQ(step.json()["makespan_ns"], found["makespan_ns"]);
        const std::string json = scratch.file("order.json");
        EXPECT_EQ(runProgram({"validate", json, "--memory-limit", "3"}).exit_code, 0);
    }
}

TEST(SearchCommand, RepeatsAnAnswerByItsRounds) {
    const ScratchFolder scratch;
    const std::string stages = scratch.write("stages.csv", kStages).string();
    const auto one = runProgram(search(stages, {"--memory-limit", "2,3,2,1", "--threads", "1", "--csv"}));
    const auto two = runProgram(search(stages, {"--memory-limit", "2,3,2,1", "--threads", "2", "--csv"}));
    ASSERT_EQ(one.exit_code, 0) << one.err;
    EXPECT_EQ(one.out, two.out);
}

TEST(SearchCommand, KeepsToWhatIsAsked) {
    const ScratchFolder scratch;
    const std::string stages = scratch.write("stages.csv", kStages).string();
    const auto whole = runProgram(search(stages, {"--split-backward", "off", "--csv"}));
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    EXPECT_EQ(whole.out.find('I'), std::string::npos);
    const auto split = runProgram(search(stages, {"--split-backward", "on", "--csv"}));
    ASSERT_EQ(split.exit_code, 0) << split.err;
    EXPECT_EQ(split.out.find('B'), std::string::npos);
    const auto v = runProgram(
        {"search", "--pp", "2", "--microbatches", "4", "--vpp", "2", "--placement", "v", "--rounds", "1", "--json"});
    ASSERT_EQ(v.exit_code, 0) << v.err;
    EXPECT_EQ(v.json()["schedule"]["placement"], "v");
    const auto waits = runProgram(search(stages, {"--sends", "batched", "--comm-streams", "link", "--json"}));
    ASSERT_EQ(waits.exit_code, 0) << waits.err;
    EXPECT_GE(waits.json()["makespan_ns"].get<std::int64_t>(), waits.json()["bound_ns"].get<std::int64_t>());
}

TEST(SearchCommand, TakesTimesAndMemoryFromATrace) {
    const ScratchFolder scratch;
    const std::string trace = scratch.file("step.pftrace");
    const std::vector<std::string> sizes{"--pp", "3", "--microbatches", "6", "--forward", "2ms", "--backward", "5ms"};
    std::vector<std::string> words{"simulate", "--schedule", "1f1b", "--out", trace, "--json"};
    words.insert(words.end(), sizes.begin(), sizes.end());
    const auto step = runProgram(words);
    ASSERT_EQ(step.exit_code, 0) << step.err;
    const auto result = runProgram({"search", "--from", trace, "--rounds", "2", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto found = result.json();
    EXPECT_EQ(found["from"]["observed_ns"], step.json()["makespan_ns"]);
    EXPECT_EQ(found["from"]["simulated_ns"], step.json()["makespan_ns"]);
    EXPECT_EQ(found["schedule"]["pp"], 3);
    EXPECT_EQ(found["schedule"]["microbatches"], 6);
    EXPECT_LT(found["makespan_ns"].get<std::int64_t>(), step.json()["makespan_ns"].get<std::int64_t>());
    for (int rank = 0; rank < 3; ++rank)
        EXPECT_LE(found["peak_activations"][static_cast<std::size_t>(rank)].get<int>(), 3 - rank);
    EXPECT_EQ(runProgram({"search", "--from", trace, "--pp", "3", "--microbatches", "6"}).exit_code, 2);
    EXPECT_EQ(runProgram({"search", "--from", scratch.file("none")}).exit_code, 3);
}

TEST(SearchCommand, NamesWhatIsWrong) {
    const ScratchFolder scratch;
    const std::string stages = scratch.write("stages.csv", kStages).string();
    const auto memory =
        runProgram({"search", "--pp", "3", "--microbatches", "4", "--vpp", "2", "--memory-limit", "4,1,4"});
    EXPECT_EQ(memory.exit_code, 3);
    EXPECT_NE(memory.err.find("rank 1"), std::string::npos) << memory.err;
    const std::vector<std::vector<std::string>> wrong{
        {"search"},
        {"search", "--pp", "4"},
        {"search", "--pp", "3", "--microbatches", "4", "--stage-times", stages},
        search(stages, {"--memory-limit", "3,3"}),
        search(stages, {"--memory-limit", "0"}),
        search(stages, {"--noise", "much"}),
        search(stages, {"--placement", "ring"}),
        search(stages, {"--memory-budget", "1GiB"})};
    for (const auto& words : wrong)
        EXPECT_EQ(runProgram(words).exit_code, 2) << words.back();
    EXPECT_EQ(runProgram(search(scratch.file("none.csv"))).exit_code, 3);
}

} // namespace
} // namespace bubblescope::test
