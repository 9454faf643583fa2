#include "tests/cli/program.h"

#include <gtest/gtest.h>

namespace bubblescope::test {
namespace {

/// Ten layers, the last as long as three, after an embedding.
constexpr const char* kLayers = R"({"unit":"ms",
  "embedding":{"name":"embedding","forward":0.2,"backward":0.3},
  "layers":[{"forward":1,"backward":2,"count":10,"memory":4}],
  "head":{"name":"head","forward":3,"backward":5,"memory":6}})";

std::vector<std::string> partition(const std::string& file, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"partition", "--layer-times",  file, "--schedule", "1f1b", "--pp",
                                   "4",         "--microbatches", "8"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST(PartitionCommand, FindsTheShortestStepForGivenTimes) {
    const ScratchFolder scratch;
    const std::string file = scratch.write("layers.json", kLayers).string();
    const auto result = runProgram(partition(file, {"--json"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto found = result.json();
    EXPECT_TRUE(found["proven"].get<bool>());
    EXPECT_EQ(found["step_ns"], found["lower_bound_ns"]);
    EXPECT_EQ(found["layers_per_chunk"].size(), 4U);
    EXPECT_EQ(found["layers"][0][0], 0);
    EXPECT_EQ(found["layers"][3].back(), 11);
    EXPECT_EQ(found["rules"][0]["rule"], "even");
    for (const auto& rule : found["rules"])
        EXPECT_LE(found["step_ns"].get<std::int64_t>(), rule["step_ns"].get<std::int64_t>());
    EXPECT_LT(found["step_ns"].get<std::int64_t>(), found["rules"][0]["step_ns"].get<std::int64_t>());

    const auto text = runProgram(partition(file));
    EXPECT_NE(text.out.find("Proven optimal: no split has a shorter step."), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("even"), std::string::npos);

    const std::string csv = scratch.write("layers.csv", "forward_ms,backward\n1,2ms\n1,2ms\n1,2ms\n2,4ms\n").string();
    const auto small = runProgram({"partition", "--layer-times", csv, "--schedule", "vpp", "--pp", "2", "--vpp", "2",
                                   "--microbatches", "4", "--comm", "100us", "--json"});
    ASSERT_EQ(small.exit_code, 0) << small.err;
    EXPECT_EQ(small.json()["layers_per_chunk"], nlohmann::json::parse("[1,1,1,1]"));
}

TEST(PartitionCommand, RatesTheUsersSplitAndKeepsToTheBudget) {
    const ScratchFolder scratch;
    const std::string file = scratch.write("layers.json", kLayers).string();
    const auto mine = runProgram(partition(file, {"--layers-per-rank", "3,3,3,3", "--json"})).json();
    EXPECT_EQ(mine["rules"].back()["rule"], "--layers-per-rank 3,3,3,3");
    EXPECT_EQ(mine["rules"].back()["layers_per_chunk"], nlohmann::json::parse("[3,3,3,3]"));
    const auto tight = runProgram(partition(file, {"--memory-budget", "12", "--json"}));
    ASSERT_EQ(tight.exit_code, 0) << tight.err;
    EXPECT_EQ(tight.json()["layers_per_chunk"], nlohmann::json::parse("[4,3,3,2]"));
    const auto none = runProgram(partition(file, {"--memory-budget", "11"}));
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_NE(none.err.find("memory"), std::string::npos);
}

TEST(PartitionCommand, NamesWhatIsWrong) {
    const ScratchFolder scratch;
    const std::string good = scratch.write("layers.json", kLayers).string();
    const std::string no_unit = scratch.write("no_unit.json", R"([{"forward":1,"backward":2}])").string();
    const std::string cut = scratch.write("cut.json", std::string(kLayers).substr(0, 60)).string();
    for (const std::string& file : {no_unit, cut, scratch.file("absent.json"), scratch.path().string()}) {
        const auto result = runProgram(partition(file));
        EXPECT_EQ(result.exit_code, 3) << result.err;
        EXPECT_NE(result.err.find(file), std::string::npos) << result.err;
        EXPECT_TRUE(result.out.empty());
    }
    const std::vector<std::vector<std::string>> wrong{
        {"partition", "--layer-times", good},
        {"partition", "--layer-times", good, "--schedule", "1f1b", "--pp", "4"},
        {"partition", "--layer-times", good, "--schedule", "1f1b", "--pp", "13", "--microbatches", "4"},
        partition(good, {"--layers", "11"}),
        partition(good, {"--layers-per-rank", "3,3,3"}),
        partition(good, {"--layers-per-rank", "3,3,3,2"}),
        partition(good, {"--placement", "v"}),
        partition(good, {"--memory-budget", "0"}),
        {"partition", "--layers", "8", "--pp", "2", "--memory-budget", "4"},
        {"partition", "--layers", "8", "--pp", "2", "--placement", "ring"},
        {"partition", "--layers", "8", "--pp", "1000000", "--vpp", "1000000"},
    };
    for (const auto& words : wrong) {
        const auto result = runProgram(words);
        EXPECT_EQ(result.exit_code, 2) << words.back() << result.err;
        EXPECT_FALSE(result.err.empty());
    }
}

TEST(PartitionCommand, ReadsAndWritesFrameworksSyntax) {
    const ScratchFolder scratch;
    const std::string file = scratch.write("layers.json", kLayers).string();
    const auto best = runProgram(partition(file, {"--for", "megatron", "--json"}));
    ASSERT_EQ(best.exit_code, 0) << best.err;
    const std::string option = best.json()["for"]["text"].get<std::string>();
    const std::string layout = option.substr(option.find('\'') + 1, option.rfind('\'') - option.find('\'') - 1);
    EXPECT_EQ(layout.front(), 'E');
    EXPECT_EQ(layout.back(), 'L');
    // Rated as a rule, the string stands for the same split: embedding and head are layers of the file.
    const auto again = runProgram(partition(file, {"--layout", layout, "--json"}));
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.json()["rules"].back()["layers_per_chunk"], best.json()["layers_per_chunk"]);
    EXPECT_EQ(again.json()["rules"].back()["step_ns"], best.json()["step_ns"]);

    const auto empty = runProgram({"partition", "--layout", "Ett||t|L", "--pp", "2", "--json"});
    ASSERT_EQ(empty.exit_code, 0) << empty.err;
    EXPECT_EQ(empty.json()["layers_per_chunk"], nlohmann::json::parse("[3,0,1,1]"));
    const auto parts = runProgram({"partition", "--parts", "[0, 3, 4]", "--for", "deepspeed", "--json"});
    ASSERT_EQ(parts.exit_code, 0) << parts.err;
    EXPECT_EQ(parts.json()["for"]["text"], "parts = [0, 3, 4]");
    for (const std::string& wrong : {std::string("Ett|tx"), std::string("Et|t|L"), std::string("tt|L")})
        EXPECT_EQ(runProgram({"partition", "--layout", wrong, "--pp", "2"}).exit_code, 2) << wrong;
    EXPECT_EQ(runProgram({"partition", "--layers", "8", "--pp", "2", "--vpp", "2", "--for", "deepspeed"}).exit_code, 2);
}

TEST(PartitionCommand, GivesGraphPpTheModulesOfTorchtitan) {
    const auto modules = [](const std::string& framework) {
        const auto result =
            runProgram({"partition", "--layers", "8", "--pp", "2", "--vpp", "2", "--for", framework, "--json"});
        EXPECT_EQ(result.exit_code, 0) << result.err;
        return result.json()["for"]["text"].get<std::string>();
    };
    EXPECT_EQ(modules("graph-pp"), modules("torchtitan"));
    EXPECT_NE(modules("automodel"), modules("torchtitan"));
}

} // namespace
} // namespace bubblescope::test
