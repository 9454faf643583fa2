#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/shared_data.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

TEST(AnalyzeCommand, ATerminalObeysNoNameOfAFile) {
    const ScratchFolder scratch;
    // Escape, carriage return, C1's control sequence introducer, and an override of the direction.
    const auto file = scratch.write(
        "trace.json",
        R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"a\u001b[2Jb\rc\u009bd\u202ee\u2066f","pid":0,)"
        R"("tid":7,"ts":1,"dur":5,"args":{"device":0,"stream":7}}]})");
    const auto result = runProgram({"analyze", file.string()});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr(R"(a\x1b[2Jb\rc\u009bd\u202ee\u2066f)"));
    for (const char* const control : {"\x1b", "\r", "\xc2\x9b", "\u202e", "\u2066"})
        EXPECT_THAT(result.out + result.err, testing::Not(HasSubstr(control)));
}

TEST(AnalyzeOfOutsideTraces, FindsTheSlowChunkOfMegatron) {
    BUBBLESCOPE_NEED_TRACES("megatronapp-pp4");
    const auto file = realTrace("megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated.json");
    const auto result = runProgram({"analyze", file.string(), "--json", "--fail-on", "slow-stage"});
    ASSERT_EQ(result.exit_code, 1) << result.err;
    const auto document = result.json();
    EXPECT_EQ(document["trace"]["ranks"], 4);
    EXPECT_EQ(document["steps"].size(), 20U);
    EXPECT_EQ(document["schedule"]["schedule"], "interleaved");
    EXPECT_EQ(document["schedule"]["microbatches"], 8);
    EXPECT_EQ(document["schedule"]["vpp"], 4);
    ASSERT_FALSE(document["anomalies"].empty());
    const auto& slow = document["anomalies"][0];
    EXPECT_EQ(slow["kind"], "last-stage-imbalance") << "which --fail-on slow-stage covers";
    EXPECT_GT(slow["cost_per_step_ns"], 150'000'000);
    EXPECT_NE(slow["suggestion"].get<std::string>().find("fewer layers"), std::string::npos);
    for (std::size_t i = 1; i < document["anomalies"].size(); ++i) {
        const auto& other = document["anomalies"][i];
        const auto kind = other["kind"].get<std::string>();
        EXPECT_TRUE(!other.contains("cost_per_step_ns") || kind == "exposed-communication" ||
                    kind == "time-between-steps")
            << other;
    }
    EXPECT_EQ(slow["steps"], slow["of_steps"]) << "it lasts";
    EXPECT_TRUE(slow["goes_on"].get<bool>());
    EXPECT_EQ(slow["total_cost_ns"], slow["steps"].get<std::int64_t>() * slow["cost_per_step_ns"].get<std::int64_t>());
    EXPECT_EQ(slow["command"], "bubblescope whatif " + file.string() + " --if stage:15=usual");
    EXPECT_EQ(slow["rank"], 3);
    EXPECT_EQ(slow["evidence"]["chunk"], 3);
    EXPECT_GT(slow["evidence"]["ratio"], 3.0);
    for (const auto& step : document["steps"]) {
        for (const auto& rank : step["ranks"]) {
            EXPECT_EQ(rank["busy_ns"].get<std::int64_t>() + rank["bubble_ns"].get<std::int64_t>(), step["wall_ns"]);
        }
    }
    EXPECT_EQ(runProgram({"analyze", file.string(), "--step", "99"}).exit_code, 2);
    EXPECT_NE(runProgram({"analyze", file.string(), "--step", "7"}).out.find("Where the time went: Step 7\n"),
              std::string::npos);
}

TEST(AnalyzeOfOutsideTraces, NamesTheUnequalDataOfAFleetInAScreenOfFindings) {
    BUBBLESCOPE_NEED_TRACES("bytedance-straggler");
    const auto file = realTrace("bytedance-straggler/timeline-SE.json.gz").string();
    const auto document = runProgram({"analyze", file, "--json"}).json();
    const auto& found = document["anomalies"];
    ASSERT_FALSE(found.empty());
    // Its two stages are unequal too: the last one takes 1.58 times the other.
    EXPECT_EQ(found[0]["kind"], "last-stage-imbalance");
    EXPECT_NEAR(found[0]["evidence"]["ratio"].get<double>(), 1.58, 0.01);
    EXPECT_EQ(found[1]["kind"], "data-imbalance");
    EXPECT_GT(found[1]["evidence"]["forward_backward_correlation"], 0.98);
    EXPECT_EQ(found[1]["of_steps"], 45);
    EXPECT_LT(found.size(), 10U);
    const std::string text = runProgram({"analyze", file}).out;
    EXPECT_LT(std::ranges::count(text, '\n'), 200);
    EXPECT_THAT(text, HasSubstr("data-imbalance"));
    const std::string one = runProgram({"analyze", file, "--top", "1"}).out;
    EXPECT_THAT(one, HasSubstr("… and " + std::to_string(found.size() - 1) + " more"));
    const std::string all = runProgram({"analyze", file, "--all"}).out;
    for (const auto& each : found)
        EXPECT_THAT(all, HasSubstr("(" + each["kind"].get<std::string>() + ")"));
}

TEST(AnalyzeCommand, TellsTheCommunicationThatRealPyTorchJobsWaitFor) {
    for (const char* const job : {"1f1b_pp4_mb8", "interleaved1f1b_pp4_mb8_v2"}) {
        const auto folder = (realTrace("torch-pp-cpu-gloo") / job).string();
        const auto document = runProgram({"analyze", folder, "--json"}).json();
        ASSERT_FALSE(document["anomalies"].empty()) << job;
        const auto& first = document["anomalies"][0];
        EXPECT_EQ(first["kind"], "exposed-communication") << job;
        EXPECT_GT(first["evidence"]["exposed_share"], 0.1) << job;
        EXPECT_EQ(first["steps"], first["of_steps"]) << job;
        const auto& account = document["steps"][0]["ladder"]["causes"];
        const auto cause =
            std::ranges::find_if(account, [](const auto& each) { return each["cause"] == "exposed_communication"; });
        ASSERT_NE(cause, account.end()) << job;
        EXPECT_GE((*cause)["without_ns"], 0) << job;
    }
}

TEST(AnalyzeOfOutsideTraces, TheCommandsOfFindingsShowMoreOfThem) {
    BUBBLESCOPE_NEED_TRACES("megatronapp-pp4");
    BUBBLESCOPE_NEED_TRACES("bytedance-straggler");
    int commands = 0;
    for (const char* const trace :
         {"megatronapp-pp4", "bytedance-straggler/timeline-SE.json.gz", "bytedance-straggler/timeline-ST.json.gz"}) {
        const auto document = runProgram({"analyze", realTrace(trace).string(), "--json"}).json();
        for (const auto& finding : document["anomalies"]) {
            if (!finding.contains("command")) continue;
            std::istringstream words(finding["command"].get<std::string>());
            std::vector<std::string> command{std::istream_iterator<std::string>(words), {}};
            ASSERT_GT(command.size(), 2U);
            EXPECT_EQ(command.front(), "bubblescope");
            command.erase(command.begin());
            const auto result = runProgram(command);
            EXPECT_EQ(result.exit_code, 0) << finding["command"] << ": " << result.err;
            EXPECT_FALSE(result.out.empty());
            ++commands;
        }
    }
    EXPECT_GE(commands, 4);
}

TEST(AnalyzeCommand, WritesAPageForOthers) {
    const ScratchFolder folder;
    const std::string trace = (folder.path() / "trace.pftrace").string();
    const std::string page = (folder.path() / "page.html").string();
    ASSERT_EQ(
        runProgram({"simulate", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--out", trace}).exit_code,
        0);
    const auto result = runProgram({"analyze", trace, "--html", page, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.json()["steps"].size(), 1U) << "stdout holds the document alone";
    const std::string text = readAll(page);
    EXPECT_TRUE(text.starts_with("<!DOCTYPE html>"));
    EXPECT_TRUE(text.ends_with("</html>\n"));
    EXPECT_NE(text.find("1f1b, p = 4, m = 8, v = 1"), std::string::npos);
    const auto unwritable = runProgram({"analyze", trace, "--html", (folder.path() / "no" / "page.html").string()});
    EXPECT_EQ(unwritable.exit_code, 3);
}

TEST(AnalyzeCommand, ReadsPyTorchRuns) {
    const auto folder = realTrace("torch-pp-cpu-gloo");
    const auto analyze = [&](const char* name) {
        const auto result = runProgram({"analyze", (folder / name).string(), "--json"});
        EXPECT_EQ(result.exit_code, 0) << name << result.err;
        return result.json();
    };
    const auto interleaved = analyze("interleaved1f1b_pp4_mb8_v2");
    EXPECT_EQ(interleaved["schedule"]["schedule"], "interleaved");
    EXPECT_EQ(interleaved["schedule"]["pp"], 4);
    EXPECT_EQ(interleaved["steps"].size(), 2U);
    EXPECT_EQ(analyze("gpipe_pp2_mb4")["schedule"]["schedule"], "fthenb");

    const auto zbv = analyze("zbv_pp2_mb4_v2");
    EXPECT_EQ(zbv["schedule"]["schedule"], "zb-v");
    EXPECT_EQ(zbv["schedule"]["placement"], "v");
    EXPECT_GT(zbv["steps"][0]["ranks"][0]["expected_bubble_ns"].get<std::int64_t>(), 0);

    const auto bare = analyze("1f1b_pp4_mb8"); // this run has no annotations
    EXPECT_EQ(bare["schedule"]["schedule"], "1f1b");
    EXPECT_EQ(bare["schedule"]["microbatches"], 8);
}

TEST(AnalyzeCommand, SaysHowItFoundTheSchedule) {
    const auto folder = realTrace("torch-pp-cpu-gloo");
    const auto bare = (folder / "1f1b_pp4_mb8").string();
    const auto schedule = runProgram({"analyze", bare, "--json"}).json()["schedule"];
    EXPECT_EQ(schedule["source"], "inferred");
    EXPECT_GE(schedule["confidence"], 0.8);
    EXPECT_TRUE(schedule["alternatives"].empty());
    EXPECT_FALSE(schedule["evidence"].empty());
    EXPECT_NE(runProgram({"analyze", bare}).out.find("confidence 1.00"), std::string::npos);

    const auto given = runProgram({"analyze", bare, "--json", "--schedule", "fthenb"});
    ASSERT_EQ(given.exit_code, 0) << given.err;
    EXPECT_EQ(given.json()["schedule"]["source"], "given");
    EXPECT_EQ(given.json()["schedule"]["closest"], "fthenb");
    EXPECT_EQ(given.json()["schedule"]["departs_at"]["observed"], "B0.0");

    const auto named = (folder / "interleaved1f1b_pp4_mb8_v2").string();
    const auto equal = runProgram({"analyze", named, "--json", "--schedule", "interleaved", "--flavor", "torch"});
    ASSERT_EQ(equal.exit_code, 0) << equal.err;
    EXPECT_EQ(equal.json()["schedule"]["flavor"], "torch");
    EXPECT_FALSE(equal.json()["schedule"].contains("departs_at"));
    EXPECT_EQ(runProgram({"analyze", named, "--schedule", "interleaved", "--vpp", "4"}).exit_code, 3);
    EXPECT_EQ(runProgram({"analyze", named, "--schedule", "nonsense"}).exit_code, 2);
    EXPECT_EQ(runProgram({"analyze", named, "--pp", "4"}).exit_code, 2);
}

TEST(AnalyzeCommand, RefusesToTakeTwoJobsForOne) {
    const ScratchFolder scratch;
    for (const auto& [job, ranks] : {std::pair("big", 4), std::pair("small", 2)}) {
        for (int rank = 0; rank < ranks; ++rank) {
            scratch.write(fmt::format("runs/{}/rank{}.json", job, rank),
                          fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"rank":{},"world_size":{}}},)"
                                      R"("traceEvents":[{{"ph":"X","name":"x","pid":1,"tid":1,"ts":0,"dur":10}}]}})",
                                      rank, ranks));
        }
    }
    const auto both = runProgram({"analyze", scratch.file("runs"), "--json"});
    EXPECT_EQ(both.exit_code, 0) << both.err;
    EXPECT_TRUE(both.json()["schedule"].is_null());
    EXPECT_NE(both.out.find("the files belong to different jobs: 2 of 2 ranks"), std::string::npos) << both.out;
    EXPECT_NE(both.err.find("different jobs"), std::string::npos) << both.err;
    EXPECT_EQ(runProgram({"whatif", scratch.file("runs")}).exit_code, 3);
    const auto one = runProgram({"analyze", scratch.file("runs/big"), "--json"});
    EXPECT_EQ(one.out.find("different jobs"), std::string::npos) << one.out;
}

TEST(AnalyzeCommand, SaysWhereAMeshDiffersFromThePipeline) {
    const ScratchFolder scratch;
    const std::string trace = scratch.file("run.pftrace");
    ASSERT_EQ(
        runProgram({"simulate", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--out", trace}).exit_code,
        0);
    EXPECT_NE(runProgram({"analyze", trace, "--mesh", "pp=8"}).err.find("--mesh specifies 8 pipeline ranks"),
              std::string::npos);
    EXPECT_EQ(runProgram({"analyze", trace, "--mesh", "pp=4"}).err, "");
}

TEST(AnalyzeCommand, TakesRulesAndAMesh) {
    const ScratchFolder scratch;
    for (const int rank : {0, 1}) {
        const std::string text = R"({"schemaVersion":1,"traceEvents":[)"
                                 R"({"ph":"X","cat":"x","name":"fwd 0","pid":1,"tid":1,"ts":0,"dur":10},)"
                                 R"({"ph":"X","cat":"x","name":"bwd 0","pid":1,"tid":1,"ts":20,"dur":10}]})";
        scratch.write("traces/rank" + std::to_string(rank) + ".json", text);
    }
    const auto rules = scratch.write("rules.json", R"({"rules": [{"name": "ours", "ops": [)"
                                                   R"({"name": "fwd {microbatch}", "kind": "F"},)"
                                                   R"({"name": "bwd {microbatch}", "kind": "B"}]}]})");
    const auto traces = scratch.file("traces");
    const auto untaught = runProgram({"analyze", traces, "--json"});
    ASSERT_EQ(untaught.exit_code, 0) << untaught.err;
    EXPECT_TRUE(untaught.json()["schedule"].is_null()) << "nobody taught the names";
    const auto found = runProgram({"analyze", traces, "--rules", rules.string(), "--mesh", "pp=1,dp=2", "--json"});
    ASSERT_EQ(found.exit_code, 0) << found.err;
    EXPECT_EQ(found.json()["schedule"]["recognised_by"], "ours");
    EXPECT_EQ(found.json()["schedule"]["pp"], 1);
    EXPECT_EQ(found.json()["trace"]["mesh"]["dp"], 2);
    EXPECT_EQ(found.json()["steps"].size(), 2U);
    // The others that look for a pipeline take them too.
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"diff", traces, traces}, std::vector<std::string>{"whatif", traces},
          std::vector<std::string>{"advise", traces}}) {
        EXPECT_EQ(runProgram(words).exit_code, 3) << words.front();
        std::vector<std::string> taught = words;
        taught.insert(taught.end(), {"--rules", rules.string(), "--mesh", "pp=1,dp=2"});
        const auto other = runProgram(taught);
        EXPECT_EQ(other.err.find("no pipeline ops found"), std::string::npos) << other.err;
    }
    EXPECT_EQ(runProgram({"info", traces, "--mesh", "pp=2", "--json"}).json()["files"][1]["place"]["pp"], 1);

    scratch.write("rules.json", R"({"rules": [{"name": "ours", "ops": [{"name": "fwd {bogus}", "kind": "F"}]}]})");
    const auto wrong = runProgram({"analyze", traces, "--rules", rules.string()});
    EXPECT_EQ(wrong.exit_code, 3);
    EXPECT_NE(wrong.err.find("rules.json: rules[0], ops[0], name"), std::string::npos) << wrong.err;
    EXPECT_EQ(runProgram({"analyze", traces, "--mesh", "pp=two"}).exit_code, 2);
    EXPECT_EQ(runProgram({"analyze", traces, "--mesh-order", "megatron"}).exit_code, 2) << "an order of what?";
}

TEST(AnalyzeCommand, ReportsDevicesWhereThereIsNoPipeline) {
    const ScratchFolder scratch;
    const auto trace = scratch.write("trace.json", R"({"traceEvents":[
        {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":0,"dur":60},
        {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":8,"ts":50,"dur":50}]})");
    const auto result = runProgram({"analyze", trace.string()});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(
        result.out.find("Verdict: The device spends 60.0 % of its time computing. 40.0 % is exposed communication"),
        std::string::npos)
        << result.out;
    const auto document = runProgram({"analyze", trace.string(), "--json"}).json();
    EXPECT_EQ(document["devices"][0]["exposed_communication_ns"], 40'000);
    EXPECT_EQ(document["summary"], runProgram({"analyze", trace.string(), "--summary", "--json"}).json()["summary"]);

    const std::string page = scratch.file("page.html");
    const std::string tables = scratch.file("tables");
    ASSERT_EQ(runProgram({"analyze", trace.string(), "--html", page, "--csv", tables}).exit_code, 0);
    EXPECT_NE(readAll(page).find("gemm"), std::string::npos);
    EXPECT_NE(readAll(scratch.path() / "tables/kernels.csv").find("gemm,compute,1,60000"), std::string::npos);

    // A question about steps is answered with the reason, not with success.
    for (const std::vector<std::string>& about : {std::vector<std::string>{"--fail-on", "any"},
                                                  {"--max-step", "1ms"},
                                                  {"--step", "1"},
                                                  {"--schedule", "1f1b"}}) {
        std::vector<std::string> words{"analyze", trace.string()};
        words.insert(words.end(), about.begin(), about.end());
        const auto refused = runProgram(words);
        EXPECT_EQ(refused.exit_code, 3) << about.front();
        EXPECT_NE(refused.err.find("no "), std::string::npos) << refused.err;
    }
}

TEST(AnalyzeCommand, JudgesALongRunInParts) {
    const ScratchFolder scratch;
    const std::string folder = scratch.file("run");
    const auto ran = runProgram({"run", "--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--steps", "700",
                                 "--forward", "20us", "--backward", "40us", "--out", folder});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const auto in_parts = runProgram({"analyze", folder, "--json", "--in-parts", "always"});
    const auto whole = runProgram({"analyze", folder, "--json"});
    ASSERT_EQ(in_parts.exit_code, 0) << in_parts.err;
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    const auto parts = in_parts.json();
    const auto all = whole.json();
    EXPECT_EQ(parts["parts"], 3);
    EXPECT_FALSE(all.contains("parts"));
    EXPECT_EQ(parts["schedule"], all["schedule"]);
    EXPECT_EQ(parts["trace"]["slices"], all["trace"]["slices"]);
    EXPECT_EQ(parts["trace"]["files"], all["trace"]["files"]);
    ASSERT_EQ(parts["steps"].size(), 700U);
    int in_full = 0;
    for (std::size_t s = 0; s < 700; ++s) {
        EXPECT_EQ(parts["steps"][s]["wall_ns"], all["steps"][s]["wall_ns"]);
        EXPECT_EQ(parts["steps"][s]["bubble_rate"], all["steps"][s]["bubble_rate"]);
        in_full += parts["steps"][s].contains("blame") ? 1 : 0;
    }
    EXPECT_EQ(in_full, 1);
    const auto asked = runProgram({"analyze", folder, "--in-parts", "always", "--step", "650"});
    EXPECT_THAT(asked.out, HasSubstr("Where the time went: Step 650\n"));
    EXPECT_EQ(runProgram({"analyze", folder, "--in-parts", "always", "--step", "700"}).exit_code, 2);
}

TEST(AnalyzeCommand, BadInputIsThreeAndNamesTheFile) {
    const ScratchFolder scratch;
    const std::vector<std::string> files{
        scratch.file("nosuch.json"),
        scratch.write("empty.json", "").string(),
        scratch.write("text.json", "this is not a trace").string(),
        scratch.write("other.json", R"({"name":"value"})").string(),
        scratch.write("noevents.json", R"({"traceEvents":[]})").string(),
        scratch.write("zeros.bin", std::string(1000, '\0')).string(),
        scratch.write("broken.json.gz", std::string("\x1f\x8b\x08\x00garbage", 11)).string(),
    };
    for (const std::string& file : files) {
        const auto result = runProgram({"analyze", file});
        EXPECT_EQ(result.exit_code, 3) << file << result.out;
        EXPECT_NE(result.err.find(file), std::string::npos) << result.err;
        EXPECT_TRUE(result.out.empty());
    }
}

TEST(AnalyzeCommand, DamagedTraceIsLoadedAsFarAsItGoes) {
    const ScratchFolder scratch;
    std::string events = "[";
    for (int step = 0; step < 3; ++step) {
        for (int rank = 0; rank < 2; ++rank) {
            for (int mb = 0; mb < 2; ++mb) {
                for (const char* const name : {"forward", "backward"}) {
                    const int begin = step * 1000 + (name[0] == 'f' ? mb * 10 + rank * 10 : 100 + mb * 20 - rank * 20);
                    const std::string at = R"(","pid":)" + std::to_string(rank) + R"(,"tid":0,"args":{"iteration":)" +
                                           std::to_string(step);
                    events += std::string(R"({"name":")") + name + R"(","ph":"B","ts":)" + std::to_string(begin) +
                              R"(,"cat":"c)" + at + "}},\n";
                    events += std::string(R"({"name":")") + name + R"(","ph":"E","ts":)" +
                              std::to_string(begin + (name[0] == 'f' ? 10 : 20)) + R"(,"cat":"c)" + at +
                              R"(,"microbatch":)" + std::to_string(mb) + R"(,"model_chunk":0,"pp_rank":)" +
                              std::to_string(rank) + "}},\n";
                }
            }
        }
    }
    const std::string cut = scratch.write("cut.json", events.substr(0, events.size() - 200)).string();
    const auto result = runProgram({"analyze", cut, "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    EXPECT_EQ(document["steps"].size(), 2U) << "the third step is incomplete";
    EXPECT_FALSE(document["trace"]["problems"].empty());
    EXPECT_NE(result.err.find("cut.json"), std::string::npos);
}

// A terminal would obey the sequence that begins with ESC: change its colours, its title, or what is typed next.
TEST(InfoCommand, PrintsNoControlCharactersOfForeignNames) {
    const ScratchFolder folder;
    const auto file = folder.write(
        "trace.json", R"([{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"a\u001b]0;b\u0007c"}},
        {"ph":"X","name":"n","cat":"x\u001b[31m","pid":1,"tid":1,"ts":0,"dur":1},{"ph":"E","name":"\u001bc","pid":1,"tid":1,"ts":0}])");
    const auto result = runProgram({"info", file.string()});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find(R"(a\x1b]0;b\x07c)"), std::string::npos) << result.out;
    EXPECT_EQ((result.out + result.err).find('\x1b'), std::string::npos);
}

} // namespace
} // namespace bubblescope::test
