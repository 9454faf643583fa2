// Sends, receives and what they wait for: `schedule --lower`, `validate` and `simulate` with communicators.

#include "tests/cli/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace bubblescope::test {
namespace {

using Json = nlohmann::json;

std::vector<std::string> lowered(const std::string& schedule, const std::string& vpp,
                                 std::vector<std::string> more = {}) {
    std::vector<std::string> words{"schedule", "--schedule",     schedule, "--pp",    "4",    "--vpp",
                                   vpp,        "--microbatches", "4",      "--lower", "torch"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

/// The hang among a document's problems; null if there is none.
Json hangOf(const Json& document) {
    for (const Json& problem : document.at("problems")) {
        if (problem.at("kind") == "hang") return problem;
    }
    return {};
}

TEST(LowerCommand, GivesTheSameListsInAllForms) {
    const ScratchFolder scratch;
    const auto json = runProgram(lowered("Interleaved1F1B", "2", {"--json"}));
    const auto csv = runProgram(lowered("Interleaved1F1B", "2", {"--csv"}));
    ASSERT_EQ(json.exit_code, 0) << json.err;
    ASSERT_EQ(csv.exit_code, 0) << csv.err;
    const Json lists = json.json()["lowered"];
    ASSERT_EQ(lists.size(), 4U);
    EXPECT_EQ(lists[0][0], "0UNSHARD");
    std::string rows;
    for (const Json& list : lists) {
        for (std::size_t i = 0; i < list.size(); ++i)
            rows += (i == 0 ? "" : ",") + list[i].get<std::string>();
        rows += "\r\n";
    }
    EXPECT_EQ(csv.out, rows);
    // A file keeps its actions.
    const std::string file = scratch.write("lowered.csv", csv.out).string();
    EXPECT_EQ(runProgram({"schedule", "--schedule-file", file, "--csv"}).out, csv.out);
    EXPECT_EQ(runProgram({"schedule", "--schedule-file", file, "--json"}).json()["lowered"], lists);
}

TEST(LowerCommand, RefusesWhatPyTorchRefuses) {
    const auto none = runProgram(lowered("1F1B", "1", {"--max-outstanding-sends", "0"}));
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_NE(none.err.find("--max-outstanding-sends 0 cannot be satisfied on rank 0 before 0SEND_F0"),
              std::string::npos)
        << none.err;
    const auto list = runProgram(lowered("1F1B", "1", {"--unshard-lookahead", "1,2"}));
    EXPECT_EQ(list.exit_code, 2);
    EXPECT_NE(list.err.find("has 2 numbers for 4 ranks"), std::string::npos) << list.err;
    EXPECT_EQ(runProgram({"schedule", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4", "--defer-receives"})
                  .exit_code,
              2)
        << "without --lower";
}

TEST(ValidateCommand, NamesTheCycleOfAHang) {
    const ScratchFolder scratch;
    const std::string file = scratch.write("stuck.csv", "0SEND_F1,2RECV_F0,2F0\n1SEND_F0,1RECV_F1,1F1\n").string();
    const auto one = runProgram({"validate", file, "--communicators", "one", "--eager", "64KiB", "--json"});
    EXPECT_EQ(one.exit_code, 3);
    const Json document = one.json();
    EXPECT_FALSE(document["valid"].get<bool>());
    EXPECT_TRUE(document["can_hang"].get<bool>());
    const Json hang = hangOf(document);
    ASSERT_FALSE(hang.is_null());
    EXPECT_EQ(hang["from_bytes"], 65537);
    const Json& cycle = hang["cycle"];
    ASSERT_EQ(cycle.size(), 4U);
    for (std::size_t i = 0; i < cycle.size(); ++i)
        EXPECT_EQ(cycle[i]["waits_for"], cycle[(i + 1) % cycle.size()]["call"]);
    const std::string picture = scratch.file("cycle.svg");
    EXPECT_EQ(runProgram({"validate", file, "--communicators", "one", "--svg", picture}).exit_code, 3);
    const std::string svg = readAll(picture);
    for (const char* const shown : {"rank 0", "rank 1", "2RECV_F0", "behind, in all"})
        EXPECT_NE(svg.find(shown), std::string::npos) << shown;
    const Json edge = runProgram({"validate", file, "--communicators", "edge", "--json"}).json();
    EXPECT_TRUE(hangOf(edge).is_null());
    EXPECT_FALSE(edge["can_hang"].get<bool>());
    EXPECT_FALSE(edge["valid"].get<bool>()) << "most of the step is missing";
    const auto part = runProgram({"validate", file, "--communicators", "edge", "--part", "--json"});
    EXPECT_EQ(part.exit_code, 0);
    EXPECT_TRUE(part.json()["valid"].get<bool>());
    EXPECT_EQ(runProgram({"validate", file, "--communicators", "one", "--part"}).exit_code, 3);
}

TEST(ValidateCommand, ProvesThatAnOrderCannotHang) {
    const ScratchFolder scratch;
    const std::string early = scratch.file("early.csv");
    const std::string late = scratch.file("late.csv");
    ASSERT_EQ(runProgram(lowered("LoopedBFS", "2", {"--out", early})).exit_code, 0);
    ASSERT_EQ(runProgram(lowered("LoopedBFS", "2", {"--defer-receives", "--out", late})).exit_code, 0);
    const auto safe = runProgram({"validate", early, "--communicators", "one"});
    EXPECT_EQ(safe.exit_code, 0) << safe.err;
    EXPECT_NE(safe.out.find("cannot hang"), std::string::npos) << safe.out;
    EXPECT_EQ(runProgram({"validate", late, "--communicators", "edge"}).exit_code, 0);
    const auto direction = runProgram({"validate", late, "--communicators", "direction", "--json"});
    EXPECT_EQ(hangOf(direction.json())["cycle"].size(), 8U);
    const std::string own = scratch.write("own.csv", "name,payload,from,to\nwrap,,3,0\nrest,,,\n").string();
    EXPECT_EQ(runProgram({"validate", late, "--communicators", own}).exit_code, 3) << "gradients still share one";
    const std::string missing = scratch.write("missing.csv", "name,payload,from,to\nwrap,,3,0\n").string();
    const auto uncovered = runProgram({"validate", late, "--communicators", missing});
    EXPECT_EQ(uncovered.exit_code, 3);
    EXPECT_NE(uncovered.err.find("no communicator for activations from rank 0 to rank 1"), std::string::npos)
        << uncovered.err;
    EXPECT_EQ(runProgram({"validate", late, "--communicators", "wan"}).exit_code, 2);
}

TEST(SimulateCommand, ShowsWhatQueuesCost) {
    const std::vector<std::string> line{
        "simulate", "--schedule", "Interleaved1F1B", "--pp",  "4",      "--microbatches", "8", "--forward", "1ms",
        "--comm",   "2ms",        "--lower",         "torch", "--json", "--communicators"};
    const auto with = [&](const std::string& communicators) {
        auto words = line;
        words.push_back(communicators);
        const auto result = runProgram(words);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        return result.json();
    };
    const Json one = with("one");
    const Json tag = with("tag");
    EXPECT_GT(one["makespan_ns"], tag["makespan_ns"]);
    EXPECT_EQ(one["queues"]["makespan_without_ns"], tag["makespan_ns"]);
    EXPECT_EQ(tag["queues"]["queued_transfers"], 0);
    ASSERT_FALSE(one["head_of_line"].empty());
    EXPECT_GE(one["head_of_line"][0]["wait_ns"], one["head_of_line"].back()["wait_ns"]);
    EXPECT_EQ(one["queues"]["of_communicators"][0]["name"], "all");
}

TEST(SimulateCommand, SlowsOpsDownWhileReceivesArePending) {
    const auto simulated = [](const std::vector<std::string>& more) {
        std::vector<std::string> words{
            "simulate",       "--schedule", "Interleaved1F1B", "--pp", "4",      "--vpp", "2",
            "--microbatches", "8",          "--forward",       "1ms",  "--comm", "200us", "--communicators",
            "edge",           "--json"};
        words.insert(words.end(), more.begin(), more.end());
        return runProgram(words);
    };
    const std::int64_t alone = simulated({}).json()["makespan_ns"];
    EXPECT_EQ(simulated({"--receive-share", "0"}).json()["makespan_ns"], alone);
    const std::int64_t tenth = simulated({"--receive-share", "10"}).json()["makespan_ns"];
    EXPECT_GT(tenth, alone);
    EXPECT_LT(tenth, alone * 10 / 7) << "few ops overlap more than one receive";
    EXPECT_EQ(simulated({"--receive-share", "100"}).exit_code, 2) << "ops would never end";
    EXPECT_EQ(simulated({"--receive-share", "10", "--receive-blocks-compute"}).exit_code, 2);
    EXPECT_EQ(runProgram({"validate", "order.json", "--receive-share", "10"}).exit_code, 2) << "it checks no times";
}

TEST(SimulateCommand, TakesOneKindOfTransfersAtATime) {
    const std::vector<std::string> order{"simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4"};
    auto both = order;
    both.insert(both.end(), {"--communicators", "edge", "--sends", "batched"});
    const auto refused = runProgram(both);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("--communicators replace --sends"), std::string::npos) << refused.err;
}

TEST(SimulateCommand, DrawsSendsReceivesAndWeights) {
    const ScratchFolder scratch;
    const std::string file = scratch.file("lanes.svg");
    const auto drawn =
        runProgram({"simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "3", "--comm", "100us", "--lower",
                    "torch", "--unshard", "500us", "--communicators", "edge", "--svg", file});
    ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
    const std::string svg = readAll(file);
    for (const char* const name : {"0SEND_F0: ", "1RECV_F0: ", "0UNSHARD: ", "sends, receives, weights and copies"})
        EXPECT_NE(svg.find(name), std::string::npos) << name;
}

TEST(SimulateCommand, ComparesChoicesOfCommunication) {
    const auto result = runProgram({"simulate", "--schedule", "LoopedBFS", "--pp", "4", "--vpp", "2", "--microbatches",
                                    "4", "--comm", "1ms", "--lower", "torch", "--communication-choices", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json choices = result.json()["communication_choices"];
    ASSERT_EQ(choices.size(), 21U) << "five places of receives; edges merged with deferred ones";
    EXPECT_FALSE(choices[0]["can_hang"].get<bool>());
    const auto choice = [&](const std::string& receives, const std::string& communicators) {
        return *std::ranges::find_if(choices, [&](const Json& each) {
            return each["receives"] == receives && each["communicators"] == communicators;
        });
    };
    EXPECT_TRUE(choice("deferred", "direction")["can_hang"].get<bool>());
    EXPECT_TRUE(choice("deferred", "direction")["makespan_ns"].is_null());
    EXPECT_FALSE(choice("early", "one")["can_hang"].get<bool>());
    EXPECT_EQ(choice("early", "edge")["count"], 8) << "a ring of four ranks, both ways";
    EXPECT_LE(choices[0]["makespan_ns"], choice("early", "one")["makespan_ns"]);
    const Json merged = choice("deferred", "rules");
    EXPECT_FALSE(merged["can_hang"].get<bool>());
    EXPECT_LT(merged["count"], 8);
    EXPECT_GT(merged["count"], 1);
    EXPECT_EQ(merged["rules"].size(), 8U);
}

TEST(SimulateCommand, FindsThePlacesOfReceivesForOneCommunicator) {
    const std::vector<std::string> order{"--schedule", "Interleaved1F1B", "--pp", "4",      "--vpp",
                                         "2",          "--microbatches",  "8",    "--comm", "200us"};
    const auto run = [&](std::vector<std::string> words, std::vector<std::string> more) {
        words.insert(words.end(), order.begin(), order.end());
        words.insert(words.end(), more.begin(), more.end());
        return runProgram(words);
    };
    const auto chosen = run({"simulate"}, {"--lower", "torch", "--communication-choices"});
    EXPECT_NE(chosen.out.find("With one communicator, the fastest safe receives are '2 ahead': 67.4 ms."),
              std::string::npos)
        << chosen.out;
    const auto one =
        run({"simulate"}, {"--lower", "torch", "--receives-ahead", "2", "--communicators", "one", "--json"});
    EXPECT_EQ(one.json()["makespan_ns"], 67'400'000);
    EXPECT_EQ(run({"simulate"}, {"--lower", "torch", "--receives-ahead", "2", "--defer-receives"}).exit_code, 2);
}

TEST(SearchCommand, GivesTheVerdictOfTheOrderThatItFound) {
    const ScratchFolder scratch;
    const std::string out = scratch.file("found.csv");
    const auto found = runProgram({"search", "--pp", "2", "--microbatches", "3", "--rounds", "1", "--lower", "torch",
                                   "--communicators", "edge", "--out", out, "--json"});
    ASSERT_EQ(found.exit_code, 0) << found.err;
    EXPECT_FALSE(found.json()["can_hang"].get<bool>());
    EXPECT_EQ(found.json()["verdicts"].size(), 5U);
    EXPECT_EQ(runProgram({"validate", out, "--communicators", "edge"}).exit_code, 0);
}

/// One rank with two stages: with one active stage, each change of stage waits 4 ms; a second hides all but the first.
TEST(WeightChoices, NameTheFastestAndWhatToGatherEarlier) {
    const ScratchFolder scratch;
    const std::string order =
        scratch.write("order.json", R"({"vpp":2,"ranks":[[["F",0,0],["F",0,1],["B",0,1],["B",0,0]]]})").string();
    const auto result =
        runProgram({"simulate", "--schedule-file", order, "--forward", "10ms", "--backward", "20ms", "--lower", "torch",
                    "--max-active-stages", "1", "--unshard", "4ms", "--weight-choices", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    const auto& choices = document["weight_choices"];
    EXPECT_EQ(choices[0]["max_active_stages"], 2);
    EXPECT_EQ(choices[0]["makespan_ns"], 64'000'000);
    EXPECT_EQ(choices.back()["makespan_ns"], 72'000'000);
    ASSERT_EQ(document["earlier_unshards"].size(), 2U);
    for (const auto& each : document["earlier_unshards"]) {
        EXPECT_EQ(each["ops_earlier"], 1);
        EXPECT_EQ(each["exposed_ns"], 4'000'000);
        EXPECT_EQ(each["hidden_ns"], 4'000'000);
    }
}

} // namespace
} // namespace bubblescope::test
