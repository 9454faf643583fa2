#include "tests/cli/program.h"
#include "tests/support/shared_data.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

/// Every trace of the shared folder that may hold a pipeline: a file, or a folder of one run's files.
std::vector<std::filesystem::path> sharedTraces() {
    std::vector<std::filesystem::path> found;
    for (const char* const group : {"megatronapp-pp4", "bytedance-straggler", "torch-pp-cpu-gloo"}) {
        if (!std::filesystem::exists(realTrace(group))) continue;
        for (const auto& entry : std::filesystem::directory_iterator(realTrace(group))) {
            const std::string name = entry.path().filename().string();
            if (entry.is_directory() || name.ends_with(".json") || name.ends_with(".json.gz"))
                found.push_back(entry.path());
        }
    }
    const auto jobs = sharedDir() / "traces/real"; // profiles of jobs, if there are any
    if (std::filesystem::exists(jobs)) {
        for (const auto& entry : std::filesystem::directory_iterator(jobs)) {
            if (entry.is_directory()) found.push_back(entry.path());
        }
    }
    std::ranges::sort(found);
    return found;
}

TEST(StepSelectionOfCommands, AStepTakesTheSameEverywhere) {
    int compared = 0;
    for (const auto& trace : sharedTraces()) {
        const auto analysis = runProgram({"analyze", trace.string(), "--summary", "--json"});
        if (analysis.exit_code == 3) continue; // no pipeline in it
        ASSERT_EQ(analysis.exit_code, 0) << trace << analysis.err;
        const auto truth = analysis.json();
        const auto diff = runProgram({"diff", trace.string(), trace.string(), "--json"});
        ASSERT_EQ(diff.exit_code, 0) << trace << diff.err;
        const auto sides = diff.json();
        for (const char* const side : {"a", "b"}) {
            EXPECT_EQ(sides[side]["step_time_ns"], truth["step_time_ns"]) << trace;
            EXPECT_EQ(sides[side]["selection"], truth["selection"]) << trace;
        }
        EXPECT_EQ(sides["step"]["a_ns"], truth["step_time_ns"]) << trace;
        for (const char* const command : {"whatif", "advise"}) {
            std::vector<std::string> call{command, trace.string(), "--json"};
            if (call[0] == "advise") call.insert(call.end(), {"--search-time", "0"});
            const auto result = runProgram(call);
            ASSERT_EQ(result.exit_code, 0) << command << trace << result.err;
            const auto document = result.json();
            EXPECT_EQ(document["step_time_ns"], truth["step_time_ns"]) << command << trace;
            EXPECT_EQ(document["selection"], truth["selection"]) << command << trace;
        }
        ++compared;
    }
    EXPECT_GE(compared, 4);
}

/// Four steps of two ranks and two replicas: the first takes five times as long, replica 1 twice as long as replica 0.
std::string runOfReplicas(const ScratchFolder& folder) {
    std::ostringstream events;
    const char* comma = "";
    for (int step = 0; step < 4; ++step) {
        for (int rank = 0; rank < 2; ++rank) {
            for (int replica = 0; replica < 2; ++replica) {
                const int unit = (step == 0 ? 500 : 100) * (1 + replica);
                const auto op = [&](const char* name, int microbatch, int start) {
                    events << comma << R"({"ph":"X","cat":"x","name":")" << name << " " << step << " " << microbatch
                           << R"(","pid":)" << rank * 2 + replica << R"(,"tid":1,"ts":)" << step * 100000 + start * unit
                           << R"(,"dur":)" << unit << "}";
                    comma = ",";
                };
                op("fwd", 0, rank);
                op("fwd", 1, rank + 1);
                op("bwd", 0, 4 - rank);
                op("bwd", 1, 5 - rank);
            }
        }
    }
    for (int rank = 0; rank < 4; ++rank) {
        std::string mine;
        std::string all = events.str();
        folder.write("traces/rank" + std::to_string(rank) + ".json", [&] {
            std::string text = R"({"schemaVersion":1,"traceEvents":[)";
            std::size_t at = 0;
            const std::string pid = R"("pid":)" + std::to_string(rank) + ",";
            while (at < all.size()) {
                const std::size_t end = std::min(all.find('}', at), all.size() - 1) + 1;
                std::string event = all.substr(at, end - at);
                if (event.starts_with(',')) event.erase(0, 1);
                if (event.find(pid) != std::string::npos) text += (text.ends_with('[') ? "" : ",") + event;
                at = end;
            }
            return text + "]}";
        }());
    }
    folder.write("rules.json", R"({"rules": [{"name": "ours", "ops": [)"
                               R"({"name": "fwd {step} {microbatch}", "kind": "F"},)"
                               R"({"name": "bwd {step} {microbatch}", "kind": "B"}]}]})");
    return folder.file("traces");
}

TEST(StepSelectionOfCommands, ReplicasCanBeAskedFor) {
    const ScratchFolder folder;
    const std::string traces = runOfReplicas(folder);
    const auto analyze = [&](std::vector<std::string> more) {
        std::vector<std::string> words{"analyze", traces, "--rules", folder.file("rules.json"), "--mesh", "pp=2,dp=2"};
        words.insert(words.end(), more.begin(), more.end());
        return runProgram(words);
    };
    const auto whole = analyze({"--json"});
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    const auto document = whole.json();
    EXPECT_EQ(document["selection"]["steps"], 4);
    EXPECT_EQ(document["selection"]["replicas"], 2);
    EXPECT_EQ(document["selection"]["taken"], (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(document["selection"]["set_aside"][0]["why"], "warm-up");
    EXPECT_EQ(document["steps"].size(), 8U);
    EXPECT_EQ(document["steps"][0]["set_aside"], "warm-up");
    const auto sick = document["step_time_ns"].get<std::int64_t>();

    const auto text = analyze({});
    EXPECT_THAT(text.out, HasSubstr("3 of 4 steps × 2 replicas; excluded: warm-up 0"));
    EXPECT_THAT(text.out, HasSubstr("Step 2 of replica 1, the typical one, on the longest of 2 replicas"));
    EXPECT_THAT(analyze({"--step", "2/0"}).out, HasSubstr("Where the time went: Step 2 of replica 0\n"));

    const auto healthy = analyze({"--replica", "0", "--json"}).json();
    EXPECT_EQ(2 * healthy["step_time_ns"].get<std::int64_t>(), sick);
    for (const auto& step : healthy["steps"])
        EXPECT_EQ(step["replica"], 0);
    const auto asked = analyze({"--step", "0,2-3/1", "--json"}).json();
    EXPECT_EQ(asked["steps"].size(), 4U) << "both replicas of step 0, one of two more";
    EXPECT_EQ(asked["selection"]["taken"], (std::vector<int>{0, 2, 3}));
    EXPECT_EQ(runProgram({"analyze", "--step", "2", "--step", "3", "--replica", "0", traces, "--rules",
                          folder.file("rules.json"), "--mesh", "pp=2,dp=2", "--json"})
                  .json()["selection"]["taken"],
              (std::vector<int>{2, 3}))
        << "options before the files do not take them";
    const auto one_rank = analyze({"--rank", "1", "--json"}).json();
    EXPECT_EQ(one_rank["steps"][0]["ranks"].size(), 1U);
    EXPECT_EQ(one_rank["steps"][0]["ranks"][0]["rank"], 1);
    for (const char* const wrong : {"9", "2/7", "x", "3-1"})
        EXPECT_EQ(analyze({"--step", wrong}).exit_code, 2) << wrong;
    EXPECT_EQ(analyze({"--replica", "2"}).exit_code, 2);
    EXPECT_EQ(analyze({"--rank", "2"}).exit_code, 2);
}

TEST(StepSelectionOfCommands, AHiccupOfTheFirstStepBlamesNobody) {
    const ScratchFolder folder;
    const std::string traces = folder.file("traces");
    const auto run = runProgram({"run",
                                 "--schedule",
                                 "1f1b",
                                 "--pp",
                                 "4",
                                 "--microbatches",
                                 "8",
                                 "--steps",
                                 "6",
                                 "--forward",
                                 "5ms",
                                 "--backward",
                                 "10ms",
                                 "--pace-tolerance",
                                 "1000s",
                                 "--inject",
                                 "slow:rank=2,factor=1.3",
                                 "--inject",
                                 "op:F3,rank=3,step=0,add=1s",
                                 "--out",
                                 traces});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const auto study = runProgram({"whatif", traces, "--json"}).json();
    EXPECT_EQ(study["selection"]["set_aside"][0]["why"], "warm-up");
    EXPECT_EQ(study["slowest_workers"][0]["rank"], 2);
    const auto fixed = runProgram({"whatif", traces, "--if", "rank:2=usual", "--json"}).json()["scenario"];
    // Seven micro-batches of 15 ms, 4.5 ms longer each on rank 2.
    EXPECT_EQ(fixed["change_ns"], -31'500'000);
    EXPECT_EQ(fixed["observed_ns"], 196'500'000);
}

std::string simulatedRun(const ScratchFolder& folder) {
    const std::string trace = folder.file("run.pftrace");
    const auto result = runProgram({"simulate", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--forward",
                                    "1ms", "--backward", "2ms", "--out", trace});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return trace;
}

TEST(AnalyzeCommand, SaysItInThreeLines) {
    const ScratchFolder folder;
    const std::string trace = simulatedRun(folder);
    const auto text = runProgram({"analyze", trace, "--summary"});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_TRUE(text.out.starts_with("Verdict: 1f1b, p = 4, m = 8, v = 1: a step takes 33.0 ms")) << text.out;
    EXPECT_THAT(text.out, HasSubstr("\nCost:    No loss above 2 % beyond the schedule's own bubble."));
    EXPECT_THAT(text.out, HasSubstr("\nAction:  "));
    const auto document = runProgram({"analyze", trace, "--summary", "--json"}).json();
    EXPECT_EQ(document["schema_version"], 1);
    EXPECT_EQ(document["step_time_ns"], 33'000'000);
    const auto whole = runProgram({"analyze", trace, "--json"}).json();
    EXPECT_EQ(whole["summary"], document["summary"]);
    const std::string full = runProgram({"analyze", trace}).out;
    EXPECT_TRUE(full.starts_with(text.out)) << "the three lines come first";
    std::size_t last = 0;
    for (const char* const part : {"Verdict:", "\nSchedule:", "\nWhere the time went", "\nAccounting", "\nSteps (",
                                   "\nOp times by stage", "\nBubbles compared with the closed form"}) {
        const std::size_t at = full.find(part);
        ASSERT_NE(at, std::string::npos) << part;
        EXPECT_GE(at, last) << part;
        last = at;
    }
}

TEST(AnalyzeCommand, BudgetsAreExitCodes) {
    const ScratchFolder folder;
    const std::string trace = simulatedRun(folder); // 33 ms; each rank idles for 9 of them
    const auto run = [&](std::vector<std::string> words) {
        words.insert(words.begin() + 1, trace);
        return runProgram(words);
    };
    EXPECT_EQ(run({"analyze", "--max-step", "33ms", "--max-bubble", "28%"}).exit_code, 0);
    const auto slow = run({"analyze", "--max-step", "32.9ms"});
    EXPECT_EQ(slow.exit_code, 1);
    EXPECT_THAT(slow.err, HasSubstr("over budget: a step takes 33.0 ms, 100 us more than --max-step 32.9 ms"));
    const auto idle = run({"analyze", "--max-bubble", "27"});
    EXPECT_EQ(idle.exit_code, 1);
    EXPECT_THAT(idle.err, HasSubstr("--max-bubble allows 27.0 %"));
    EXPECT_EQ(run({"whatif", "--max-step", "32ms"}).exit_code, 1);
    EXPECT_EQ(run({"whatif", "--max-step", "33ms"}).exit_code, 0);
    EXPECT_EQ(run({"whatif", "--if", "compute=-50%", "--max-step", "32ms"}).exit_code, 0)
        << "cannot draw the changed step";
    EXPECT_EQ(run({"whatif", "--if", "rank:2=+50%", "--fail-on", "slower"}).exit_code, 1);
    EXPECT_EQ(run({"whatif", "--if", "compute=-50%", "--fail-on", "slower"}).exit_code, 0);
    EXPECT_EQ(run({"whatif", "--fail-on", "straggling"}).exit_code, 0) << "equal stages";
    for (const char* const wrong : {"much", "-1", "101", "nan"})
        EXPECT_EQ(run({"analyze", "--max-bubble", wrong}).exit_code, 2) << wrong;
    EXPECT_EQ(run({"analyze", "--max-step", "700"}).exit_code, 2) << "of what?";
}

/// The cells of a line; nothing here is quoted.
std::vector<std::string> cellsOf(const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');)
        cells.push_back(cell);
    return cells;
}

TEST(AnalyzeCommand, WritesTables) {
    const ScratchFolder folder;
    const std::string trace = simulatedRun(folder);
    const std::filesystem::path out = folder.file("tables");
    const auto result = runProgram({"analyze", trace, "--csv", out.string(), "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    const auto rowsOf = [&](const std::string& name) {
        std::ifstream file(out / (name + ".csv"));
        std::vector<std::vector<std::string>> rows;
        for (std::string line; std::getline(file, line);)
            rows.push_back(cellsOf(line));
        EXPECT_FALSE(rows.empty()) << name;
        for (const auto& row : rows)
            EXPECT_LE(row.size(), rows.front().size()) << name;
        return rows;
    };
    EXPECT_EQ(rowsOf("ops").size(), 1U + 4 * 8 * 2);
    EXPECT_EQ(rowsOf("steps").size(), 2U);
    EXPECT_EQ(rowsOf("steps")[1][2], "taken");
    EXPECT_EQ(rowsOf("steps")[1][4], "33000000");
    EXPECT_EQ(rowsOf("findings").size(), 1 + document["anomalies"].size());
    std::int64_t bubbles = 0;
    for (const auto& row : rowsOf("bubbles")) {
        if (row[0] != "step") bubbles += std::stoll(row[5]) - std::stoll(row[4]);
    }
    std::int64_t entries = 0;
    for (const auto& row : rowsOf("accounting")) {
        if (row[0] != "step") entries += std::stoll(row[4]);
    }
    std::int64_t in_document = 0;
    for (const auto& rank : document["steps"][0]["ranks"])
        in_document += rank["bubble_ns"].get<std::int64_t>();
    EXPECT_EQ(bubbles, in_document);
    EXPECT_EQ(entries, 4 * 33'000'000) << "whole steps, rank by rank";
    rowsOf("transfers");

    EXPECT_EQ(runProgram({"analyze", trace, "--csv", trace}).exit_code, 3) << "a file is not a folder";
}

} // namespace
} // namespace bubblescope::test
