#include "core/base/time.h"
#include "tests/cli/program.h"
#include "tests/support/shared_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

constexpr const char* kTimeline = "bytedance-straggler/timeline-ST.json.gz";

/// A trace of 1F1B on four ranks, the last one slower, with transfers of 1 ms.
std::string simulatedTrace(const ScratchFolder& scratch) {
    const std::string times =
        scratch.write("times.csv", "stage,forward,backward\n0,1ms,2ms\n1,1ms,2ms\n2,1ms,2ms\n3,2ms,4ms\n").string();
    const std::string trace = scratch.file("trace.pftrace");
    const auto result = runProgram({"simulate", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8",
                                    "--stage-times", times, "--comm", "1ms", "--out", trace});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return trace;
}

TEST(WhatIfOfOutsideTraces, FindsTheStTracesLastStage) {
    BUBBLESCOPE_NEED_TRACES("bytedance-straggler");
    const std::string trace = realTrace(kTimeline).string();
    const auto document = runProgram({"whatif", trace, "--json"}).json();
    EXPECT_NEAR(document["slowdown"].get<double>(), 1.1787, 0.005);
    EXPECT_NEAR(document["waste"].get<double>(), 0.1516, 0.005);
    EXPECT_NEAR(document["m_w"].get<double>(), 0.031, 0.005);
    EXPECT_NEAR(document["m_s"].get<double>(), 1.219, 0.005);
    EXPECT_EQ(document["by_dp"].size(), 2U);
    EXPECT_EQ(document["by_pp"].size(), 4U);
    EXPECT_EQ(document["by_op_type"].size(), 11U);
    EXPECT_EQ(document["workers"][1][3], document["by_dp"][1]); // the lesser of the two
    EXPECT_EQ(document["slowest_workers"][0]["rank"], 3);
    EXPECT_EQ(document["steps"].size(), 32U);
    EXPECT_NEAR(document["launch_delay"].get<double>(), 0.0192, 0.0005);

    const auto text = runProgram({"whatif", trace});
    EXPECT_EQ(text.exit_code, 0);
    EXPECT_THAT(text.out, HasSubstr("M_S = 1.22"));
    EXPECT_THAT(text.out, HasSubstr("▒ 1.178"));
    const auto one = runProgram({"whatif", trace, "--step", "33,34", "--json"}).json();
    EXPECT_EQ(one["steps"].size(), 2U);

    const auto schedule = runProgram({"whatif", trace, "--if", "schedule=zb-v", "--json"}).json()["scenario"];
    EXPECT_EQ(schedule["schedule"]["vpp"], 2);
    EXPECT_LT(schedule["change"].get<double>(), -0.1);
    EXPECT_LT(schedule["replay_error"].get<double>(), 0.05);
    EXPECT_GT(schedule["error_bar_ns"].get<std::int64_t>(), 0);
}

TEST(WhatIfCommand, PredictsWhatASimulationGives) {
    const ScratchFolder scratch;
    const std::string trace = simulatedTrace(scratch);
    const auto predicted = runProgram({"whatif", trace, "--if", "rank:3=usual", "--if", "links=2x", "--json"}).json();
    const auto simulated = runProgram({"simulate", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8",
                                       "--forward", "1ms", "--backward", "2ms", "--comm", "500us", "--json"})
                               .json();
    const auto& scenario = predicted["scenario"];
    EXPECT_EQ(scenario["predicted_ns"], simulated["makespan_ns"]);
    EXPECT_EQ(scenario["replay_error"], 0.0);
    EXPECT_EQ(predicted["replay_error"], 0.0);
    EXPECT_EQ(scenario["change_ns"].get<std::int64_t>() + scenario["observed_ns"].get<std::int64_t>(),
              scenario["predicted_ns"]);
    ASSERT_EQ(scenario["ranks"].size(), 4U);
    EXPECT_EQ(scenario["ranks"][0]["bubble_after_ns"], simulated["ranks"][0]["bubble_ns"]);
    const auto text = runProgram({"whatif", trace, "--if", "rank:3=usual", "--if", "links=2x"});
    EXPECT_THAT(text.out, HasSubstr("If rank:3=usual\n   links=2x\n"));
}

TEST(WhatIfCommand, MovesLayers) {
    const ScratchFolder scratch;
    const std::string trace = simulatedTrace(scratch);
    const auto moved =
        runProgram({"whatif", trace, "--layers", "4,4,4,4", "--if", "layers=5,4,4,3", "--json"}).json()["scenario"];
    EXPECT_LT(moved["change_ns"].get<std::int64_t>(), 0);
    EXPECT_EQ(runProgram({"whatif", trace, "--if", "layers=5,4,4,3"}).exit_code, 2);
}

TEST(AdviseCommand, EverySuggestionIsWhatItsCommandSays) {
    const ScratchFolder scratch;
    const std::string trace = simulatedTrace(scratch);
    const auto advice =
        runProgram({"advise", trace, "--layers", "4,4,4,4", "--orders", scratch.file("orders"), "--json"}).json();
    ASSERT_GE(advice["suggestions"].size(), 4U);
    std::int64_t before = 0;
    int recommended = 0;
    for (const auto& suggestion : advice["suggestions"]) {
        auto command = suggestion["command"].get<std::vector<std::string>>();
        command.emplace_back("--json");
        const auto scenario = runProgram(command).json()["scenario"];
        EXPECT_EQ(scenario["predicted_ns"], suggestion["predicted_ns"]) << suggestion;
        EXPECT_EQ(scenario["change"], suggestion["change"]);
        EXPECT_LT(suggestion["change_ns"].get<std::int64_t>(), 0);
        EXPECT_GT(-suggestion["change_ns"].get<std::int64_t>(), suggestion["error_bar_ns"].get<std::int64_t>());
        const auto now = suggestion["predicted_ns"].get<std::int64_t>();
        EXPECT_GE(now, before) << "the shortest step first";
        before = now;
        if (suggestion["recommended"] == true) {
            ++recommended;
            EXPECT_LE(suggestion["activations"], advice["present"]["activations"]) << "no catch";
            EXPECT_EQ(suggestion["model_copies"], 1);
            EXPECT_FALSE(suggestion["frameworks"].empty());
        }
        EXPECT_EQ(suggestion["effort"] == "copies", suggestion["model_copies"] > 1) << suggestion;
        // None is worth less than another in everything.
        for (const auto& other : advice["suggestions"]) {
            if (other == suggestion || other["effort"] != suggestion["effort"]) continue;
            const bool split = other.dump().find("split=") != std::string::npos || other.contains("search");
            EXPECT_TRUE(other["predicted_ns"] > suggestion["predicted_ns"] ||
                        other["activations"] > suggestion["activations"] || split || suggestion["effort"] != "order")
                << other << suggestion;
        }
    }
    EXPECT_EQ(recommended, 1);
    EXPECT_THAT(advice["recommended_because"].get<std::string>(), HasSubstr("shortest"));
    const auto withChange = [](const auto& answer, const std::string& change) {
        const auto& all = answer["suggestions"];
        const auto found = std::ranges::find_if(all, [&](const auto& one) {
            return one["changes"].size() == 1U && one["changes"][0].template get<std::string>().starts_with(change);
        });
        return found == all.end() ? nlohmann::json() : *found;
    };
    EXPECT_FALSE(withChange(advice, "layers=").is_null()) << "the last stage is slow";
    const auto shares = withChange(runProgram({"advise", trace, "--json"}).json(), "stages=balanced");
    ASSERT_FALSE(shares.is_null());
    ASSERT_EQ(shares["moved"].size(), 4U);
    EXPECT_LT(shares["moved"][3].get<double>(), -0.1);
    EXPECT_GT(shares["moved"][0].get<double>(), 0);
    EXPECT_EQ(advice["present"]["activations"], 4.0);
    const auto text = runProgram({"advise", trace});
    EXPECT_EQ(text.exit_code, 0);
    EXPECT_THAT(text.out, HasSubstr("bubblescope whatif " + trace + " --if "));
}

// Rank 0 of a job of PyTorch waits where it posts receives.
TEST(AdviseCommand, RecommendsReceivesThatDoNotBlock) {
    const std::string trace = (dataDir() / "gpu-pipelines/torch-blocking-receive/trace").string();
    const auto first = runProgram({"analyze", trace, "--json"}).json()["answer"][0];
    EXPECT_EQ(first["kind"], "blocking-receive");
    EXPECT_EQ(first["rank"], 0);
    EXPECT_EQ(first["gain_ns"], first["cost_ns"]);
    const auto advice = runProgram({"advise", trace, "--search-time", "0", "--json"}).json();
    const auto suggestion = std::ranges::find_if(
        advice["suggestions"], [](const auto& one) { return one["recommended"].template get<bool>(); });
    ASSERT_NE(suggestion, advice["suggestions"].end());
    EXPECT_EQ((*suggestion)["changes"], nlohmann::json::array({"blocked=0"}));
    EXPECT_EQ((*suggestion)["effort"], "transfers");
    EXPECT_NEAR(-(*suggestion)["change_ns"].get<double>(), first["gain_ns"].get<double>(), 5e6);
}

// The duration of a pair's ops one after the other is unknown; the balance of the stages can still be advised.
TEST(AdviseCommand, AdvisesBalanceWhereOrdersCannotBeTried) {
    const ScratchFolder scratch;
    const std::string times =
        scratch.write("times.csv", "stage,forward,backward\n0,1ms,2ms\n1,1ms,2ms\n2,1ms,2ms\n3,2ms,4ms\n").string();
    const std::string trace = scratch.file("pairs.pftrace");
    ASSERT_EQ(runProgram({"simulate", "--schedule", "1f1b-overlap", "--pp", "4", "--microbatches", "8", "--stage-times",
                          times, "--out", trace})
                  .exit_code,
              0);
    const auto advice = runProgram({"advise", trace, "--json"}).json();
    EXPECT_THAT(advice["no_orders"].get<std::string>(), HasSubstr("pairs"));
    ASSERT_EQ(advice["suggestions"].size(), 1U);
    EXPECT_EQ(advice["suggestions"][0]["effort"], "balance");
    EXPECT_LT(advice["suggestions"][0]["change"].get<double>(), -0.1);
}

TEST(AdviseCommand, StaysWithinTheBudget) {
    const ScratchFolder scratch;
    const std::string trace = simulatedTrace(scratch);
    const std::string sizes =
        scratch.write("sizes.json", R"({"layers": [{"parameters": 0, "activation": 1048576, "count": 16}]})").string();
    const auto free = runProgram({"advise", trace, "--memory-model", sizes, "--json"}).json();
    EXPECT_EQ(free["present"]["memory_bytes"], 16 << 20); // four micro-batches of four layers
    const auto tight =
        runProgram({"advise", trace, "--memory-model", sizes, "--memory-budget", "16MiB", "--json"}).json();
    ASSERT_FALSE(tight["suggestions"].empty());
    for (const auto& suggestion : tight["suggestions"])
        EXPECT_LE(suggestion["memory_bytes"].get<std::int64_t>(), 16 << 20) << suggestion;
    EXPECT_EQ(runProgram({"advise", trace, "--memory-budget", "16MiB"}).exit_code, 2); // of what?
    EXPECT_EQ(runProgram({"advise", scratch.file("nowhere.json")}).exit_code, 3);
}

/// ZB-H2 holds more activations than 1F1B, so that less memory costs time.
TEST(AdviseCommand, OrdersWithLessMemoryStateTheirCost) {
    const ScratchFolder scratch;
    const std::string trace = scratch.file("zb-h2.pftrace");
    ASSERT_EQ(runProgram({"simulate", "--schedule", "zb-h2", "--pp", "4", "--microbatches", "16", "--forward", "10ms",
                          "--comm", "1ms", "--out", trace})
                  .exit_code,
              0);
    const std::string sizes =
        scratch
            .write("sizes.json",
                   R"({"layers": [{"parameters": 0, "activation": 1024, "until_weight_grad": 512, "count": 16}]})")
            .string();
    std::vector<std::string> words{"advise", trace, "--memory-model", sizes, "--orders", scratch.file("orders"),
                                   "--json"};
    const auto advice = runProgram(words).json();
    const auto now = advice["present"]["memory_bytes"].get<std::int64_t>();
    ASSERT_GE(advice["less_memory"].size(), 2U);
    std::int64_t saved = 0;
    double cost = -1;
    for (const auto& order : advice["less_memory"]) {
        SCOPED_TRACE(order.dump());
        EXPECT_GT(order["saved_bytes"].get<std::int64_t>(), saved);
        EXPECT_GT(order["change"].get<double>(), cost);
        EXPECT_LE(order["change"].get<double>(), 0.05);
        saved = order["saved_bytes"].get<std::int64_t>();
        cost = order["change"].get<double>();
        EXPECT_EQ(order["memory_bytes"].get<std::int64_t>(), now - saved);
        auto command = order["command"].get<std::vector<std::string>>();
        command.emplace_back("--json");
        EXPECT_EQ(runProgram(command).json()["scenario"]["predicted_ns"], order["predicted_ns"]);
    }
    EXPECT_GT(cost, 0);
    words.pop_back();
    words.emplace_back("--force");
    EXPECT_THAT(runProgram(words).out, HasSubstr("less memory on the fullest rank, +"));
}

TEST(AdviseCommand, NamesWeightsThatShouldBeGatheredEarlier) {
    const ScratchFolder scratch;
    const std::string trace = scratch.file("interleaved.pftrace");
    const auto simulated = [](std::vector<std::string> words) {
        words.insert(words.begin(), {"simulate", "--schedule", "interleaved", "--flavor", "torch", "--pp", "2", "--vpp",
                                     "4", "--microbatches", "8", "--forward", "3ms"});
        return runProgram(words);
    };
    ASSERT_EQ(simulated({"--out", trace}).exit_code, 0);
    const std::vector<std::string> advise{"advise", trace, "--search-time", "0", "--unshard", "12ms"};
    auto json = advise;
    json.emplace_back("--json");
    const auto late = runProgram(json).json()["earlier_unshards"];
    ASSERT_FALSE(late.empty());
    EXPECT_EQ(
        late,
        simulated({"--lower", "torch", "--weight-choices", "--unshard", "12ms", "--json"}).json()["earlier_unshards"]);
    EXPECT_THAT(runProgram(advise).out, HasSubstr("Unsharding stage"));
    const auto quick = runProgram({"advise", trace, "--search-time", "0", "--unshard", "1us"});
    EXPECT_THAT(quick.out, HasSubstr("An earlier UNSHARD would hide no wait for weights."));
}

TEST(WhatIfCommand, BadChangesAreTwoAndBadInputIsThree) {
    const ScratchFolder scratch;
    const std::string trace = simulatedTrace(scratch);
    const auto unknown = runProgram({"whatif", trace, "--if", "rnk:3=2x"});
    EXPECT_EQ(unknown.exit_code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("rnk:3"));
    EXPECT_THAT(unknown.err, HasSubstr("rank:R"));
    EXPECT_EQ(runProgram({"whatif", trace, "--if", "rank:7=2x"}).exit_code, 2);
    EXPECT_EQ(runProgram({"whatif", trace, "--step", "5"}).exit_code, 2);
    EXPECT_EQ(runProgram({"whatif"}).exit_code, 2);
    EXPECT_EQ(runProgram({"whatif", scratch.file("nowhere.json")}).exit_code, 3);
}

/// Each gain in a trace's answer is what `whatif` predicts for the same change, in all forms of the answer. Returns how
/// many there are.
int expectOneNumberPerGain(const std::string& trace) {
    const std::string text = runProgram({"analyze", trace, "--json"}).out;
    if (!text.starts_with("{")) return 0; // nothing usable
    const auto report = nlohmann::json::parse(text);
    if (!report.contains("answer") || report["answer"].empty()) return 0;
    int compared = 0;
    for (const auto& statement : report["answer"]) {
        if (statement["gain_ns"].is_null() || statement["change"].is_null()) continue;
        const auto scenario =
            runProgram({"whatif", trace, "--if", statement["change"].get<std::string>(), "--json"}).json()["scenario"];
        EXPECT_EQ(statement["gain_ns"].get<std::int64_t>(),
                  std::max<std::int64_t>(0, -scenario["change_ns"].get<std::int64_t>()))
            << trace << statement;
        EXPECT_EQ(scenario["observed_ns"], report["step_time_ns"]) << trace << ": one baseline";
        ++compared;
    }
    const auto& first = report["answer"][0];
    if (first["change"].is_null() || first["gain_ns"].is_null()) return compared;
    // A gain that is nearly the cost is not stated again.
    if (std::abs(first["gain_ns"].get<double>() / first["cost_ns"].get<double>() - 1) < 0.01) return compared;
    const std::string gain = formatTime(TimeNs{first["gain_ns"].get<std::int64_t>()});
    EXPECT_THAT(runProgram({"analyze", trace}).out, HasSubstr(gain)) << trace;
    EXPECT_THAT(runProgram({"analyze", trace, "--summary"}).out, HasSubstr(gain)) << trace;
    return compared;
}

/// Over everything in a folder that may be a trace.
int expectOneNumberPerGainIn(const std::filesystem::path& folder) {
    int compared = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string ending = entry.path().extension().string();
        if (ending != ".md" && ending != ".txt" && ending != ".py" && ending != ".sql" && ending != ".parquet")
            compared += expectOneNumberPerGain(entry.path().string());
    }
    return compared;
}

TEST(WhatIfCommand, SavesWhatTheAnswerSays) {
    const ScratchFolder scratch;
    int compared = expectOneNumberPerGain(simulatedTrace(scratch));
    for (const char* const folder :
         {"recordings", "recordings/torch-pp-cpu-gloo", "recordings/torch-recorded", "traces"})
        compared += expectOneNumberPerGainIn(dataDir() / folder);
    EXPECT_GE(compared, 10);
}

TEST(WhatIfCommandOutside, SavesWhatTheAnswerSays) {
    BUBBLESCOPE_NEED_TRACES("bytedance-straggler");
    int compared = 0;
    for (const char* const pipelines : {"bytedance-straggler", "megatronapp-pp4", "primus"})
        compared += expectOneNumberPerGainIn(realTrace(pipelines));
    EXPECT_GE(compared, 4);
}

// Time that the trace does not explain makes the error larger, but the answer is still given; and there is one figure
// for it.
TEST(WhatIfCommand, AnswersOnEveryRealTraceWithOneError) {
    for (const char* name : {"torch-pp-cpu-gloo/1f1b_pp4_mb8", "torch-pp-cpu-gloo/interleaved1f1b_pp4_mb8_v2",
                             "torch-pp-cpu-gloo/zbv_pp2_mb4_v2", "torch-pp-cpu-gloo/gpipe_pp2_mb4",
                             "megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated.json"}) {
        const std::string trace = realTrace(name).string();
        if (!std::filesystem::exists(trace)) continue;
        const auto study = runProgram({"whatif", trace, "--json"}).json();
        const auto scenario = runProgram({"whatif", trace, "--if", "rank:1=usual", "--json"}).json()["scenario"];
        const auto order = runProgram({"whatif", trace, "--if", "schedule=zb-h1", "--json"}).json()["scenario"];
        const auto advice = runProgram({"advise", trace, "--json"}).json();
        EXPECT_GT(study["replay_error"].get<double>(), 0) << name;
        EXPECT_EQ(scenario["replay_error"], study["replay_error"]) << name;
        EXPECT_EQ(order["replay_error"], study["replay_error"]) << name;
        EXPECT_EQ(advice["replay_error"], study["replay_error"]) << name;
        EXPECT_GT(order["error_bar_ns"].get<std::int64_t>(), 0) << name;
    }
    const std::string folder = realTrace("torch-pp-cpu-gloo/1f1b_pp4_mb8").string();
    const auto refused = runProgram({"whatif", folder, "--max-error", "0.1"});
    EXPECT_EQ(refused.exit_code, 3);
    EXPECT_THAT(refused.err, HasSubstr("more than the limit"));
    EXPECT_THAT(refused.err, HasSubstr("--max-error"));
    const auto scenario = runProgram({"whatif", folder, "--if", "stage:3=usual"});
    EXPECT_EQ(scenario.exit_code, 0);
    EXPECT_THAT(scenario.out, HasSubstr(" ± "));
}

// The result of the search is among the suggestions, as a file that `whatif` reads, with the same prediction.
TEST(AdviseCommand, SearchesAnOrderAndASplitInTurn) {
    const ScratchFolder scratch;
    const std::string trace = simulatedTrace(scratch);
    const std::string folder = scratch.file("orders");
    const auto advice = runProgram({"advise", trace, "--layers", "8,8,8,8", "--orders", folder, "--json"}).json();
    int searched = 0;
    for (const auto& suggestion : advice["suggestions"]) {
        if (!suggestion.contains("search")) continue;
        ++searched;
        EXPECT_GE(suggestion["search"]["makespan_ns"], suggestion["search"]["bound_ns"]);
        EXPECT_FALSE(suggestion["search"]["reason"].get<std::string>().empty());
        EXPECT_LE(suggestion["activations"], advice["present"]["activations"]);
        std::vector<std::string> words = suggestion["command"].get<std::vector<std::string>>();
        words.emplace_back("--json");
        const auto predicted = runProgram(words);
        ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
        EXPECT_EQ(predicted.json()["scenario"]["predicted_ns"], suggestion["predicted_ns"]);
    }
    EXPECT_GE(searched, 1); // the last stage takes twice as long, so another split gains
    EXPECT_GT(advice["split_adds_ns"].get<std::int64_t>(), 0);
    EXPECT_EQ(runProgram({"validate", folder + "/searched-split.csv"}).exit_code, 0);

    const auto without = runProgram({"advise", trace, "--layers", "8,8,8,8", "--search-time", "0", "--json"}).json();
    for (const auto& suggestion : without["suggestions"])
        EXPECT_FALSE(suggestion.contains("search"));
    const std::string other = scratch.write("other.csv", "0F0,0B0\n1F0,1B0\n").string();
    EXPECT_EQ(runProgram({"whatif", trace, "--if", "schedule-file=" + other}).exit_code, 2);
    EXPECT_EQ(runProgram({"whatif", trace, "--if", "schedule-file=" + scratch.file("none")}).exit_code, 3);
}

} // namespace
} // namespace bubblescope::test
