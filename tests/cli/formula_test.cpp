#include "tests/cli/program.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope::test {
namespace {

nlohmann::json formula(std::vector<std::string> more) {
    std::vector<std::string> words{"formula", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = runProgram(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.json();
}

TEST(FormulaCommand, GivesRatesPeaksAndKinds) {
    const auto form = formula({"--schedule", "1f1b", "--pp", "4", "--microbatches", "8"});
    EXPECT_EQ(form["kind"], "exact");
    EXPECT_EQ(form["positions"][0]["kind"], "exact");
    EXPECT_DOUBLE_EQ(form["bubble_rate"].get<double>(), 3.0 / 11);
    EXPECT_DOUBLE_EQ(form["span_bubble_rate"].get<double>(), 3.0 / 11);
    EXPECT_DOUBLE_EQ(form["over_ideal"].get<double>(), 3.0 / 8);
    EXPECT_EQ(form["peak_activations"]["values"], nlohmann::json::parse("[4,3,2,1]"));
    EXPECT_EQ(form["peak_activations"]["expression"], "min(m, p−s)");
    EXPECT_FALSE(form.contains("simulated_makespan_ns"));
}

TEST(FormulaCommand, CountsTransfers) {
    const auto form = formula({"--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--forward", "5ms",
                               "--backward", "10ms", "--comm", "1ms"});
    EXPECT_EQ(form["kind"], "exact");
    EXPECT_EQ(form["makespan_ns"], 165'000'000 + 2 * 1'000'000 * (3 + 7 * 3 / 4));
}

TEST(FormulaCommand, ShowsTheSimulationBesideABound) {
    const std::vector<std::string> unbalanced{"--schedule",     "vpp", "--flavor", "unbalanced", "--pp", "4",
                                              "--microbatches", "9",   "--vpp",    "2"};
    const auto form = formula(unbalanced);
    EXPECT_EQ(form["kind"], "lower bound");
    EXPECT_FALSE(form["exact"].get<bool>());
    EXPECT_FALSE(form["note"].get<std::string>().empty());
    EXPECT_EQ(form["simulated_makespan_ns"], 74'000'000);
    EXPECT_LE(form["makespan_ns"].get<std::int64_t>(), 74'000'000);
    EXPECT_GE(form["makespan_ns"].get<std::int64_t>(), (9 * 2 + 3) * 3'000'000);

    std::vector<std::string> words{"formula", "--explain"};
    words.insert(words.end(), unbalanced.begin(), unbalanced.end());
    const auto text = runProgram(words).out;
    EXPECT_NE(text.find("simulated:   74.0 ms"), std::string::npos) << text;
    EXPECT_NE(text.find("26 %, unbalanced VPP (Zheng 2024)"), std::string::npos);
}

TEST(FormulaCommand, QuotesWithVerdicts) {
    const auto quoted =
        formula({"--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--backward", "2ms"})["quoted"];
    const auto split = std::ranges::find_if(
        quoted, [](const auto& quote) { return quote.value("position", "") == "between warm-up and steady"; });
    ASSERT_NE(split, quoted.end());
    EXPECT_EQ((*split)["expression"], "(p−s−1)·t_f");
    EXPECT_EQ((*split)["values_ns"], nlohmann::json::parse("[3000000,2000000,1000000,0]"));
    EXPECT_FALSE((*split)["holds"].get<bool>());
    EXPECT_FALSE((*split)["verdict"].get<std::string>().empty());
}

/// The order in a file counts, not its name.
TEST(FormulaCommand, NamesAFileByItsOrder) {
    const ScratchFolder scratch;
    const auto made = runProgram({"schedule", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4", "--json"});
    auto document = made.json();
    EXPECT_EQ(formula({"--schedule-file", scratch.write("same.json", made.out).string()})["kind"], "exact");

    // Rank 0 runs all its forwards first: no longer 1F1B.
    document["ranks"][0] =
        nlohmann::json::parse(R"([["F",0,0],["F",1,0],["F",2,0],["F",3,0],["B",0,0],["B",1,0],["B",2,0],["B",3,0]])");
    const auto other = formula({"--schedule-file", scratch.write("other.json", document.dump()).string()});
    EXPECT_EQ(other["kind"], "lower bound");
    EXPECT_LE(other["makespan_ns"], other["simulated_makespan_ns"]);
}

} // namespace
} // namespace bubblescope::test
