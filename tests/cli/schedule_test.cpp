#include "tests/cli/program.h"
#include "tests/support/xml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope::test {
namespace {

const std::vector<std::string> kOneFOneB{"--schedule", "1f1b",      "--pp", "4",          "--microbatches",
                                         "8",          "--forward", "5ms",  "--backward", "10ms"};

std::vector<std::string> with(std::string command, std::vector<std::string> options,
                              std::vector<std::string> more = {}) {
    options.insert(options.begin(), std::move(command));
    options.insert(options.end(), more.begin(), more.end());
    return options;
}

TEST(ScheduleCommand, DocumentFeedsTheOtherCommands) {
    const ScratchFolder scratch;
    const auto schedule =
        runProgram({"schedule", "--schedule", "vpp", "--pp", "2", "--microbatches", "4", "--vpp", "2", "--json"});
    ASSERT_EQ(schedule.exit_code, 0) << schedule.err;
    const auto document = schedule.json();
    EXPECT_EQ(document["schedule"], "interleaved");
    EXPECT_EQ(document["flavor"], "megatron");
    EXPECT_EQ(document["placement"], "loop");
    EXPECT_EQ(document["ranks"].size(), 2U);
    EXPECT_EQ(document["ranks"][0][0], nlohmann::json::parse(R"(["F",0,0])"));
    EXPECT_EQ(document["ranks"][0].size(), 2U * 4 * 2);

    const std::string file = scratch.write("s.json", schedule.out).string();
    EXPECT_TRUE(runProgram({"validate", file, "--json"}).json()["valid"].get<bool>());
    const auto simulated =
        runProgram({"simulate", "--schedule-file", file, "--forward", "1ms", "--backward", "2ms", "--json"});
    ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
    EXPECT_EQ(simulated.json()["makespan_ns"], (4 * 2 + 1) * 3'000'000);
}

TEST(ScheduleCommand, TakesTheChunksThatAScheduleNeeds) {
    const auto of = [](std::vector<std::string> more) {
        const std::vector<std::string> sizes{"schedule", "--pp", "4", "--microbatches", "8", "--json", "--schedule"};
        more.insert(more.begin(), sizes.begin(), sizes.end());
        return runProgram(more);
    };
    EXPECT_EQ(of({"ZBVZeroBubble"}).json()["vpp"], 2);
    EXPECT_EQ(of({"Interleaved1F1B"}).json()["vpp"], 2);
    EXPECT_EQ(of({"1F1B"}).json()["vpp"], 1);
    EXPECT_EQ(of({"interleaved", "--vpp", "4"}).json()["vpp"], 4);
    const auto refused = of({"zb-v", "--vpp", "1"});
    EXPECT_EQ(refused.exit_code, 2) << "who gives a number means it";
    EXPECT_NE(refused.err.find("specify --vpp 2"), std::string::npos) << refused.err;
}

TEST(ScheduleCommand, NamesWhatIsMissingOrMisspelt) {
    const auto unsized = runProgram({"schedule", "--schedule", "1f1b", "--microbatches", "8"});
    EXPECT_EQ(unsized.exit_code, 2);
    EXPECT_NE(unsized.err.find("the number of pipeline ranks is missing"), std::string::npos) << unsized.err;
    const auto misspelt = [](const std::string& name) {
        const auto refused = runProgram({"schedule", "--schedule", name, "--pp", "4", "--microbatches", "8"});
        EXPECT_EQ(refused.exit_code, 2);
        return refused.err;
    };
    EXPECT_NE(misspelt("Interleved1F1B").find("did you mean 'interleaved'?"), std::string::npos);
    EXPECT_NE(misspelt("ScheduleZBVZeroBuble").find("did you mean 'zb-v'?"), std::string::npos);
    EXPECT_NE(misspelt("1f1bb").find("did you mean '1f1b'?"), std::string::npos);
}

TEST(ScheduleCommand, ChartIsToScale) {
    const auto chart = runProgram({"schedule", "--schedule", "gpipe", "--pp", "2", "--microbatches", "2"});
    ASSERT_EQ(chart.exit_code, 0);
    EXPECT_NE(chart.out.find("rank 0 | F0 F1 .  .  .  B0 -  B1 -"), std::string::npos) << chart.out;
}

TEST(FormulaCommand, GivesEveryRankAndPosition) {
    const auto result = runProgram(with("formula", kOneFOneB, {"--json"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto form = result.json();
    EXPECT_EQ(form["makespan_ns"], 165'000'000);
    EXPECT_EQ(form["bubble_ns"], nlohmann::json::parse("[45000000,45000000,45000000,45000000]"));
    EXPECT_DOUBLE_EQ(form["bubble_rate"].get<double>(), 45.0 / 165);
    std::int64_t rank_1 = 0;
    for (const auto& part : form["positions"]) {
        EXPECT_TRUE(part["exact"].get<bool>());
        EXPECT_FALSE(part["domain"].get<std::string>().empty());
        if (part["rank"] != 1) continue;
        rank_1 += part["value_ns"].get<std::int64_t>();
        if (part["position"] == "between warm-up and steady") {
            EXPECT_EQ(part["value_ns"], 20'000'000);
        }
        if (part["position"] == "between steady and cool-down") {
            EXPECT_EQ(part["value_ns"], 10'000'000);
        }
    }
    EXPECT_EQ(rank_1, 45'000'000);
    EXPECT_NE(runProgram(with("formula", kOneFOneB)).out.find("(p−s−1)·t_b"), std::string::npos);
}

TEST(SimulateCommand, AgreesWithTheFormulaAndListsOps) {
    const auto result = runProgram(with("simulate", kOneFOneB, {"--json", "--ops"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto simulated = result.json();
    EXPECT_EQ(simulated["makespan_ns"], 165'000'000);
    EXPECT_EQ(simulated["ops"].size(), 4U * 16);
    EXPECT_DOUBLE_EQ(simulated["over_ideal"].get<double>(), 45.0 / 120);
    EXPECT_EQ(simulated["ranks"][0]["peak_activations"], 4);
    EXPECT_EQ(simulated["ranks"][3]["peak_activations"], 1);
    EXPECT_EQ(simulated["ranks"][2]["positions"]["after cool-down"], 20'000'000);
}

TEST(SimulateCommand, ComparesOrdersOfOneSize) {
    // The seed's headline: the bubble rate of a VPP with a remainder, before and after.
    const std::vector<std::string> words{"simulate",
                                         "--schedule",
                                         "vpp",
                                         "--flavor",
                                         "unbalanced",
                                         "--pp",
                                         "4",
                                         "--microbatches",
                                         "9",
                                         "--vpp",
                                         "2",
                                         "--compare",
                                         "/balanced,looped-bfs/torch"};
    const auto rates = [&](const char* forward, const char* backward) {
        auto more = words;
        more.insert(more.end(), {"--forward", forward, "--backward", backward, "--json"});
        const auto schedules = runProgram(more).json()["schedules"];
        EXPECT_EQ(schedules.size(), 3U);
        EXPECT_EQ(schedules[1]["flavor"], "balanced");
        EXPECT_EQ(schedules[2]["schedule"], "looped-bfs");
        return std::pair(schedules[0]["bubble_rate"].get<double>(), schedules[1]["bubble_rate"].get<double>());
    };
    EXPECT_NEAR(rates("1ms", "1ms").first, 0.250, 5e-4);
    EXPECT_NEAR(rates("2ms", "3ms").first, 0.262, 5e-4);
    EXPECT_NEAR(rates("1ms", "2ms").first, 0.270, 5e-4);
    EXPECT_NEAR(rates("1ms", "2ms").second, 1.0 / 7, 1e-9);
    const auto text = runProgram(words);
    EXPECT_NE(text.out.find("interleaved (balanced)"), std::string::npos) << text.err;
    EXPECT_NE(text.out.find("rank 3 |"), std::string::npos);
}

TEST(SimulateCommand, DrawsTimelines) {
    const ScratchFolder scratch;
    const std::string file = scratch.file("step.svg");
    const auto drawn = runProgram(
        with("simulate", kOneFOneB, {"--compare", "gpipe", "--svg", file, "--svg-ranks", "0,2-3", "--json"}));
    ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
    EXPECT_EQ(drawn.json()["schedules"].size(), 2U);
    const auto document = XmlReader::read(readAll(file));
    ASSERT_TRUE(document);
    std::vector<std::string> texts;
    for (const XmlElement* text : document->all("text"))
        texts.push_back(text->text);
    EXPECT_THAT(texts, testing::IsSupersetOf({"1f1b, p = 4, m = 8, v = 1", "fthenb, p = 4, m = 8, v = 1", "rank 3",
                                              "t_f = 5 ms, t_b = 10 ms; makespan 165 ms, bubble rate 27.27 %"}));
    EXPECT_THAT(texts, testing::Not(testing::Contains("rank 1")));

    EXPECT_EQ(
        runProgram(with("schedule", kOneFOneB, {"--force", "--svg", file, "--svg-consolidated", "--svg-to", "30ms"}))
            .exit_code,
        0);
    const auto consolidated = readAll(file);
    EXPECT_NE(consolidated.find(">Consolidated<"), std::string::npos);
    EXPECT_EQ(consolidated.find("B7.0"), std::string::npos);
    EXPECT_EQ(runProgram(with("schedule", kOneFOneB, {"--svg", file, "--svg-ranks", "4"})).exit_code, 2);
    EXPECT_EQ(runProgram(with("schedule", kOneFOneB, {"--svg", file, "--svg-ranks", "x"})).exit_code, 2);
    EXPECT_EQ(runProgram(with("schedule", kOneFOneB, {"--svg", scratch.file("no/folder.svg")})).exit_code, 3);
}

TEST(SimulateCommand, LossSlowsTheLastStage) {
    const auto simulated = runProgram(with("simulate", kOneFOneB, {"--loss", "1ms", "--json"}));
    ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
    EXPECT_EQ(simulated.json()["makespan_ns"], 189'000'000); // three stages of 15 ms, then eight times 18 ms

    const auto order = [](const std::string& loss) {
        return runProgram({"schedule", "--schedule", "zb-v", "--flavor", "paddle", "--pp", "4", "--microbatches", "4",
                           "--vpp", "3", "--loss", loss, "--json"})
            .json()["ranks"];
    };
    EXPECT_EQ(order("0ms").size(), 4U);
    EXPECT_NE(order("0ms"), order("5ms"));
    const ScratchFolder scratch;
    const std::string file = scratch.write("s.json", runProgram(with("schedule", kOneFOneB, {"--json"})).out).string();
    const auto of_file = runProgram(
        {"simulate", "--schedule-file", file, "--forward", "5ms", "--backward", "10ms", "--loss", "1ms", "--json"});
    EXPECT_EQ(of_file.json()["makespan_ns"], 189'000'000);
    // An encoder with times of its own keeps them, and chunks without given times have the usual ones.
    const auto encoded = runProgram(with("simulate", kOneFOneB, {"--encoders", "1:5ms", "--loss", "1ms", "--json"}));
    EXPECT_EQ(encoded.json()["makespan_ns"], 189'000'000);
    // Replicas of an encoder divide its times.
    for (const char* const same : {"1:10ms@dp2", "1:2500us@dp1/2", "1@dp1"}) {
        const auto scaled = runProgram(with("simulate", kOneFOneB, {"--encoders", same, "--loss", "1ms", "--json"}));
        EXPECT_EQ(scaled.json()["makespan_ns"], 189'000'000) << same;
    }
    for (const char* const wrong : {"1@dp", "1@dp0", "1@dp2/3", "1@dp-1", "@dp2"})
        EXPECT_EQ(runProgram(with("simulate", kOneFOneB, {"--encoders", wrong})).exit_code, 2) << wrong;
    EXPECT_EQ(runProgram({"simulate", "--schedule", "zb-v", "--pp", "4", "--microbatches", "8", "--encoders", "1:5ms",
                          "--loss", "1ms"})
                  .exit_code,
              2);
}

TEST(SimulateCommand, TraceComesBackThroughAnalyze) {
    const ScratchFolder scratch;
    const std::string trace = scratch.file("t.pftrace");
    ASSERT_EQ(runProgram(with("simulate", kOneFOneB, {"--comm", "1ms", "--out", trace})).exit_code, 0);
    const auto analyzed = runProgram({"analyze", trace, "--json"});
    ASSERT_EQ(analyzed.exit_code, 0) << analyzed.err;
    const auto document = analyzed.json();
    EXPECT_EQ(document["schedule"]["schedule"], "1f1b");
    EXPECT_EQ(document["steps"].size(), 1U);
    // 2c[(p-1) + floor((m-1)(p-1)/p)] more than without latency
    EXPECT_EQ(document["steps"][0]["wall_ns"], 165'000'000 + 2 * 1'000'000 * (3 + 7 * 3 / 4));
}

TEST(ScheduleCommand, MemoryLimitWeighsActivations) {
    // A point of the published curve: 6.2B on 16 ranks, 48 micro-batches, room for 18 activations.
    std::vector<std::string> words{"simulate",
                                   "--schedule",
                                   "zb-auto",
                                   "--pp",
                                   "16",
                                   "--microbatches",
                                   "48",
                                   "--forward",
                                   "28814us",
                                   "--input-grad",
                                   "28760us",
                                   "--comm",
                                   "1610us",
                                   "--json",
                                   "--memory-limit",
                                   "18",
                                   "--weight-grad",
                                   "19352us",
                                   "--activation-sizes",
                                   "303104,172032,131072"};
    const auto weighed = runProgram(words);
    ASSERT_EQ(weighed.exit_code, 0) << weighed.err;
    EXPECT_NEAR(weighed.json()["span_bubble_rate"].get<double>(), 0.12719681, 5e-6);
    words.back() = "2,2,2";
    EXPECT_EQ(runProgram(words).exit_code, 2);
}

TEST(PartitionCommand, CutsLayersIntoStages) {
    const auto even = runProgram({"partition", "--layers", "7", "--pp", "2", "--vpp", "2", "--json"});
    ASSERT_EQ(even.exit_code, 0) << even.err;
    EXPECT_EQ(even.json()["layers_per_chunk"], nlohmann::json::parse("[2,2,2,1]"));
    const auto by_rank =
        runProgram({"partition", "--layers", "8", "--pp", "2", "--vpp", "2", "--layers-per-rank", "5,3", "--json"});
    ASSERT_EQ(by_rank.exit_code, 0) << by_rank.err;
    EXPECT_EQ(by_rank.json()["layers"], nlohmann::json::parse("[[0,1,2],[3,4],[5,6],[7]]"));
    EXPECT_NE(runProgram({"partition", "--layers", "8", "--pp", "2"}).out.find("4 to 7"), std::string::npos);
    EXPECT_EQ(runProgram({"partition", "--pp", "2"}).exit_code, 2);
    EXPECT_EQ(runProgram({"partition", "--layers", "9", "--layers-per-rank", "5,3"}).exit_code, 2);
    EXPECT_EQ(runProgram({"partition", "--layers-per-rank", "5,1", "--vpp", "2"}).exit_code, 2);
}

TEST(SchedulesCommand, ListsFamiliesWithTheirFormulas) {
    const auto list = runProgram({"schedules", "--json"}).json()["schedules"];
    ASSERT_GE(list.size(), 20U);
    EXPECT_EQ(list[0]["name"], "fthenb");
    std::size_t with_forms = 0;
    for (const auto& family : list) {
        ASSERT_FALSE(family["forms"].empty()) << family["name"];
        for (const auto& form : family["forms"]) {
            const bool exact = form["kind"] == "exact";
            EXPECT_TRUE(exact ? !form["domain"].empty() : form.contains("note")) << family["name"];
        }
        with_forms += family["closed_form"].get<bool>() ? 1 : 0;
    }
    EXPECT_GE(with_forms, 15U);
    const auto one = runProgram({"schedules", "1f1b", "--json"}).json()["schedules"];
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0]["forms"][0]["bubble"], "(p−1)·(t_f+t_b)");
    EXPECT_EQ(one[0]["forms"][0]["positions"].size(), 4U);
    EXPECT_EQ(runProgram({"schedules", "nosuch"}).exit_code, 2);
}

TEST(SchedulesCommand, TextFitsATerminal) {
    const std::string text = runProgram({"schedules"}).out;
    EXPECT_NE(text.find("also         gpipe"), std::string::npos);
    std::size_t width = 0;
    std::size_t widest = 0;
    for (const char c : text) {
        width = c == '\n' ? 0 : width + ((c & 0xC0) != 0x80 ? 1 : 0);
        widest = std::max(widest, width);
    }
    EXPECT_LE(widest, 100U);
    const std::string table = runProgram({"schedules", "--markdown", "zb-h1", "gpipe"}).out;
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4);
    EXPECT_NE(table.find("| [fthenb](schedules/fthenb.md) |"), std::string::npos);
}

TEST(ValidateCommand, ShowsTheDeadlockAndFails) {
    const ScratchFolder scratch;
    const std::string file =
        scratch.write("bad.json", R"({"ranks":[[["F",0,0],["B",0,0]],[["B",0,0],["F",0,0]]]})").string();
    const auto result = runProgram({"validate", file, "--json"});
    EXPECT_EQ(result.exit_code, 3);
    const auto document = result.json();
    EXPECT_FALSE(document["valid"].get<bool>());
    EXPECT_EQ(document["problems"][0]["kind"], "deadlock");
    EXPECT_NE(result.err.find("bad.json"), std::string::npos);
}

// A file in which every op stands twice must not become a report many times as large.
TEST(ValidateCommand, ListsTheFirstThousandProblems) {
    const ScratchFolder scratch;
    std::string text;
    for (int i = 0; i < 3000; ++i)
        text += i % 2 == 0 ? "0F0,0B0," : "0F0,";
    const std::string file = scratch.write("twice.csv", text).string();
    const auto result = runProgram({"validate", file});
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1001);
    EXPECT_NE(result.out.find("… and 3498 more"), std::string::npos);
    EXPECT_NE(result.err.find("4498 problems"), std::string::npos) << result.err;
    const auto document = runProgram({"validate", file, "--json"}).json();
    EXPECT_EQ(document["problem_count"], 4498);
    EXPECT_EQ(document["problems"].size(), 1000U);
}

TEST(Usage, WrongUseIsTwoAndSaysSo) {
    const std::vector<std::vector<std::string>> wrong{
        {},
        {"nosuch"},
        {"schedule"},
        {"schedule", "--schedule", "1f1b"},
        {"schedule", "--schedule", "nosuch", "--pp", "2", "--microbatches", "2"},
        {"schedule", "--schedule", "1f1b", "--pp", "two", "--microbatches", "2"},
        {"simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--forward", "5"},
        {"simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--forward", "5", "--nosuch"},
        {"formula", "--schedule", "vpp", "--pp", "4", "--microbatches", "9", "--vpp", "2"},
        {"run", "--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--backend", "nosuch"},
        {"analyze"},
    };
    for (const auto& arguments : wrong) {
        const auto result = runProgram(arguments);
        EXPECT_EQ(result.exit_code, 2) << (arguments.empty() ? "no arguments" : arguments.back());
        EXPECT_FALSE(result.err.empty());
        EXPECT_TRUE(result.out.empty()) << result.out;
    }
    EXPECT_EQ(runProgram({"--help"}).exit_code, 0);
    EXPECT_EQ(runProgram({"--version"}).out.rfind("bubblescope ", 0), 0U);
}

} // namespace
} // namespace bubblescope::test
