#include "tests/cli/program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <set>

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

TEST(SearchCommand, TakesTimesOfUnequalMicrobatches) {
    const ScratchFolder scratch;
    // For every other micro-batch only the whole backward is given, although orders may split it.
    std::string ops = "kind,microbatch,chunk,rank,duration\n";
    const std::vector<int> lengths{3, 9, 4, 7, 2, 8};
    for (int m = 0; m < 6; ++m) {
        for (int rank = 0; rank < 3; ++rank) {
            const int length = lengths[static_cast<std::size_t>(m)];
            const std::string at = fmt::format("{},0,{}", m, rank);
            ops += fmt::format("F,{},{}ms\n", at, length);
            if (m % 2 == 0)
                ops += fmt::format("B,{},{}ms\n", at, 2 * length + 1);
            else
                ops += fmt::format("I,{},{}ms\nW,{},{}ms\n", at, length, at, length - 1);
        }
    }
    const std::string file = scratch.write("ops.csv", ops).string();
    const std::string out = scratch.file("order.json");
    for (const char* const split : {"auto", "on", "off"}) {
        const auto result =
            runProgram({"search", "--pp", "3", "--microbatches", "6", "--op-times", file, "--memory-limit", "3",
                        "--split-backward", split, "--rounds", "2", "--force", "--out", out, "--json"});
        ASSERT_EQ(result.exit_code, 0) << result.err;
        const auto found = result.json();
        const auto makespan = found["makespan_ns"].get<std::int64_t>();
        EXPECT_GE(makespan, found["bound_ns"].get<std::int64_t>());
        EXPECT_GE(makespan, 33'000'000 * 3);
        EXPECT_LE(makespan, found["best_family"]["makespan_ns"].get<std::int64_t>());
        const auto step = runProgram({"simulate", "--schedule-file", out, "--op-times", file, "--json"});
        ASSERT_EQ(step.exit_code, 0) << step.err;
        EXPECT_EQ(step.json()["makespan_ns"], found["makespan_ns"]);
    }
    const std::vector<std::string> sizes{"search", "--pp", "3", "--microbatches", "6", "--rounds", "1"};
    const auto fails = [&](std::vector<std::string> more, int code, const std::string& with) {
        std::vector<std::string> words = sizes;
        words.insert(words.end(), more.begin(), more.end());
        const auto result = runProgram(words);
        EXPECT_EQ(result.exit_code, code) << more.back();
        EXPECT_NE(result.err.find(with), std::string::npos) << result.err;
    };
    const std::string head = "kind,microbatch,chunk,rank,duration\n";
    fails({"--vpp", "2", "--op-times", file}, 2, "--placement");
    fails({"--op-times", scratch.write("far.csv", head + "F,6,0,0,1ms\n").string()}, 3, "far.csv");
    fails({"--op-times", scratch.write("half.csv", head + "I,1,0,0,1ms\n").string()}, 3, "one half");
    fails({"--op-times", scratch.write("sum.csv", head + "I,1,0,0,1ms\nW,1,0,0,1ms\nB,1,0,0,3ms\n").string()}, 3,
          "do not add up");
}

TEST(SearchCommand, OrdersTwoModelsInOppositeDirections) {
    const ScratchFolder scratch;
    const std::string stages = scratch.write("stages.csv", kStages).string();
    const std::string second =
        scratch.write("second.csv", "forward,backward\n4ms,9ms\n5ms,8ms\n3ms,7ms\n6ms,9ms\n").string();
    const std::string out = scratch.file("order.json");
    const auto result = runProgram(search(
        stages, {"--second", second, "--second-microbatches", "3", "--split-backward", "off", "--out", out, "--json"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto found = result.json();
    EXPECT_EQ(found["schedule"]["placement"], "bidirectional");
    EXPECT_EQ(found["schedule"]["microbatches"], 11);
    for (const auto& rank : found["schedule"]["ranks"])
        EXPECT_EQ(rank.size(), 2U * (8 + 3));
    EXPECT_GE(found["makespan_ns"].get<std::int64_t>(), found["bound_ns"].get<std::int64_t>());
    // As stages: the two models' in turn.
    const std::string both = scratch
                                 .write("both.csv", "forward,backward\n10ms,20ms\n4ms,9ms\n14ms,22ms\n5ms,8ms\n"
                                                    "8ms,18ms\n3ms,7ms\n11ms,23ms\n6ms,9ms\n")
                                 .string();
    const auto step =
        runProgram({"simulate", "--schedule-file", out, "--stage-times", both, "--comm", "1ms", "--json"});
    ASSERT_EQ(step.exit_code, 0) << step.err;
    EXPECT_EQ(step.json()["makespan_ns"], found["makespan_ns"]);
    const std::string three = scratch.write("three.csv", "forward,backward\n4ms,9ms\n5ms,8ms\n3ms,7ms\n").string();
    EXPECT_EQ(runProgram(search(stages, {"--second", three})).exit_code, 2);
    EXPECT_EQ(runProgram(search(stages, {"--second", second, "--vpp", "2"})).exit_code, 2);
    EXPECT_EQ(runProgram(search(stages, {"--second", scratch.file("none")})).exit_code, 3);
    EXPECT_EQ(runProgram(search(stages, {"--second-microbatches", "3"})).exit_code, 2);
}

TEST(SearchCommand, RunsASmallerSecondModelInCopies) {
    const ScratchFolder scratch;
    const std::string stages = scratch.write("stages.csv", kStages).string();
    const std::string half = scratch.write("half.csv", "forward,backward\n4ms,9ms\n5ms,8ms\n").string();
    const std::string out = scratch.file("order.json");
    const auto result = runProgram(search(
        stages, {"--second", half, "--second-microbatches", "3", "--split-backward", "off", "--out", out, "--json"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto found = result.json();
    EXPECT_EQ(found["schedule"]["microbatches"], 8 + 2 * 3);
    for (const auto& rank : found["schedule"]["ranks"])
        EXPECT_EQ(rank.size(), 2U * (8 + 3));
    // The file carries it on: the order is valid, takes as long, and its trace shows it again.
    EXPECT_EQ(runProgram({"validate", out}).exit_code, 0);
    const std::string both = scratch
                                 .write("both.csv", "forward,backward\n10ms,20ms\n4ms,9ms\n14ms,22ms\n5ms,8ms\n"
                                                    "8ms,18ms\n4ms,9ms\n11ms,23ms\n5ms,8ms\n")
                                 .string();
    const std::string trace = scratch.file("trace.pftrace");
    const auto step = runProgram(
        {"simulate", "--schedule-file", out, "--stage-times", both, "--comm", "1ms", "--json", "--out", trace});
    ASSERT_EQ(step.exit_code, 0) << step.err;
    EXPECT_EQ(step.json()["makespan_ns"], found["makespan_ns"]);
    const auto read = runProgram({"analyze", trace, "--json"});
    ASSERT_EQ(read.exit_code, 0) << read.err;
    EXPECT_EQ(read.json()["steps"][0]["wall_ns"], found["makespan_ns"]);
    EXPECT_EQ(read.err, "") << "no arrow leads from a copy to the next";
    // By default, the copies share as many as the first model has.
    EXPECT_EQ(runProgram(search(stages, {"--second", half})).exit_code, 0);
    const auto ran = runProgram({"run", "--schedule-file", out, "--steps", "1"});
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_NE(ran.err.find("copies of a second"), std::string::npos) << ran.err;
}

TEST(SearchCommand, PairsForwardsAndBackwardsWhereAsked) {
    const ScratchFolder scratch;
    const std::string out = scratch.file("order.json");
    const std::vector<std::string> times{"--forward", "2ms", "--backward", "3ms", "--overlapped", "4ms"};
    const auto isPair = [](const nlohmann::json& op) { return op.size() == 4; };
    const auto searchWith = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"search", "--pp", "4", "--microbatches", "12", "--rounds", "2", "--force", "--out",
                                     out, "--json"});
        std::vector<std::string> used = times;
        if (std::ranges::find(words, "--overlap-pairs") == words.end()) used.resize(times.size() - 2);
        words.insert(words.end(), used.begin(), used.end());
        const auto result = runProgram(words);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        const nlohmann::json found = result.json();
        // Where no pair pays, the order has none, and their time is refused.
        if (std::ranges::none_of(found["schedule"]["ranks"],
                                 [&](const nlohmann::json& ops) { return std::ranges::any_of(ops, isPair); }))
            used.resize(times.size() - 2);
        std::vector<std::string> again{"simulate", "--schedule-file", out, "--json"};
        again.insert(again.end(), used.begin(), used.end());
        EXPECT_EQ(runProgram(again).json()["makespan_ns"], found["makespan_ns"]);
        return found;
    };
    const auto alone = searchWith({});
    const auto paired = searchWith({"--overlap-pairs"});
    const auto halves = searchWith({"--overlap-pairs", "--split-backward", "on"});
    for (const auto& found : {alone, paired, halves})
        EXPECT_GE(found["makespan_ns"].get<std::int64_t>(), found["bound_ns"].get<std::int64_t>());
    EXPECT_TRUE(std::ranges::none_of(alone["schedule"]["ranks"][3], isPair));
    EXPECT_TRUE(std::ranges::any_of(paired["schedule"]["ranks"][3], isPair));
    EXPECT_LT(paired["makespan_ns"].get<std::int64_t>(), alone["makespan_ns"].get<std::int64_t>());
    EXPECT_LT(paired["bound_ns"].get<std::int64_t>(), alone["bound_ns"].get<std::int64_t>());
    const std::vector<std::string> sizes{"search", "--pp", "2", "--microbatches", "2", "--overlap-pairs"};
    EXPECT_EQ(runProgram(sizes).exit_code, 2);
    std::vector<std::string> shorter = sizes;
    shorter.insert(shorter.end(), {"--forward", "3ms", "--overlapped", "2ms"});
    EXPECT_EQ(runProgram(shorter).exit_code, 2);
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
        search(stages, {"--memory-budget", "1GiB"})};
    for (const auto& words : wrong)
        EXPECT_EQ(runProgram(words).exit_code, 2) << words.back();
    EXPECT_EQ(runProgram(search(scratch.file("none.csv"))).exit_code, 3);
}

TEST(SearchCommand, TakesThePlacementFromAFile) {
    const ScratchFolder scratch;
    const auto placed = [](const std::string& file) {
        return runProgram({"search", "--pp", "2", "--microbatches", "4", "--vpp", "2", "--rounds", "1", "--json",
                           "--placement", file});
    };
    for (const auto& [ranks, name] : {std::pair{"0,0\n1,1\n2,0\n3,1\n", "loop"}, {"0,0\n1,1\n2,1\n3,0\n", "v"}}) {
        const auto found =
            placed(scratch.write("placement.csv", std::string("stage,rank # two passes\n") + ranks).string());
        ASSERT_EQ(found.exit_code, 0) << found.err;
        EXPECT_EQ(found.json()["schedule"]["placement"], name);
    }
    const std::string order = scratch.file("order.csv");
    ASSERT_EQ(
        runProgram({"schedule", "--schedule", "zb-v", "--pp", "2", "--microbatches", "4", "--vpp", "2", "--out", order})
            .exit_code,
        0);
    const auto as_schedule = placed(order);
    ASSERT_EQ(as_schedule.exit_code, 0) << as_schedule.err;
    EXPECT_EQ(as_schedule.json()["schedule"]["placement"], "v");

    const auto fails = [&](const std::string& text, const std::string& with) {
        const auto result = placed(scratch.write("wrong.csv", text).string());
        EXPECT_EQ(result.exit_code, 3) << result.err;
        EXPECT_NE(result.err.find(with), std::string::npos) << result.err;
    };
    fails("0,1\n1,0\n2,0\n3,1\n", "line 1: stage 0 is on rank 1");
    fails("0,0\n1,1\n2,0\n", "no rank holds stage 3");
    fails("0,0\n1,1\n2,0\n2,1\n", "line 4: stage 2 already has a rank");
    fails("0,0\n1,2\n", "line 2: there is no rank 2");
    fails("0,0\n7,1\n", "line 2: stage 7 does not exist");
    fails("0,0\n1;1\n", "line 2: '1;1' does not specify a stage and its rank");
    EXPECT_EQ(placed("ring").exit_code, 3);
}

TEST(SearchCommand, StatesWhatAFrameworkNeeds) {
    const ScratchFolder scratch;
    const std::string out = scratch.file("order.csv");
    const auto found = runProgram({"search", "--pp", "2", "--microbatches", "4", "--vpp", "2", "--placement", "v",
                                   "--rounds", "1", "--for", "torchtitan", "--out", out, "--json"});
    ASSERT_EQ(found.exit_code, 0) << found.err;
    const auto setup = found.json()["framework"];
    EXPECT_EQ(setup["schedule"], "ZBVZeroBubble");
    EXPECT_EQ(setup["settings"]["--parallelism.pipeline_parallel_schedule_csv"], out);
    EXPECT_EQ(runProgram({"validate", out}).exit_code, 0);

    const auto refused = runProgram({"schedule", "--schedule", "dualpipe", "--pp", "4", "--microbatches", "8", "--for",
                                     "automodel", "--out", scratch.file("none.csv")});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("opposite directions"), std::string::npos) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(scratch.file("none.csv")));
    const auto megatron = runProgram(
        {"schedule", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--for", "megatron", "--json"});
    ASSERT_EQ(megatron.exit_code, 0) << megatron.err;
    EXPECT_FALSE(megatron.json()["framework"]["takes_file"].get<bool>());
}

/// With transfers of 6 ms and ops of about 10 ms, one communicator delays an order that was created without it.
TEST(SearchCommand, OrdersForQueuesAreShorterInTheseQueues) {
    const ScratchFolder scratch;
    const std::string stages = scratch.write("stages.csv", kStages).string();
    const auto searched = [&](const std::string& name, const std::vector<std::string>& queues) {
        std::vector<std::string> words{
            "search", "--pp", "4",     "--microbatches",   "6",     "--stage-times", stages, "--rounds", "1",
            "--comm", "6ms",  "--out", scratch.file(name), "--json"};
        words.insert(words.end(), queues.begin(), queues.end());
        const auto result = runProgram(words);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        return result.json()["makespan_ns"].get<std::int64_t>();
    };
    const auto queued = [&](const std::string& name, const std::string& communicators) {
        const auto result =
            runProgram({"simulate", "--schedule-file", scratch.file(name), "--stage-times", stages, "--comm", "6ms",
                        "--lower", "torch", "--communicators", communicators, "--json"});
        return result.exit_code == 0 ? result.json()["makespan_ns"].get<std::int64_t>()
                                     : std::numeric_limits<std::int64_t>::max(); // it hangs
    };
    const std::int64_t free = searched("free.csv", {});
    for (const char* const communicators : {"one", "direction"}) {
        SCOPED_TRACE(communicators);
        const std::string file = fmt::format("{}.csv", communicators);
        const std::int64_t makespan = searched(file, {"--communicators", communicators});
        EXPECT_EQ(makespan, queued(file, communicators));
        EXPECT_GE(makespan, free);
        EXPECT_LT(makespan, queued("free.csv", communicators));
    }
    const auto refused = runProgram(search(stages, {"--communicators", "one", "--noise", "5%"}));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("--noise cannot be combined with --communicators"), std::string::npos) << refused.err;
}

/// Megatron-core runs interleaved 1F1B only in its own order, with any group size.
TEST(SearchCommand, FrameworksWithFixedOrdersAreSearchedInQueues) {
    const std::vector<std::string> sizes{"--pp",      "4",    "--vpp",  "2",   "--microbatches", "10",
                                         "--forward", "10ms", "--comm", "4ms", "--json"};
    const auto with = [&](std::vector<std::string> words, const std::string& lower, const std::string& communicators) {
        words.insert(words.end(), sizes.begin(), sizes.end());
        words.insert(words.end(), {"--lower", lower, "--communicators", communicators});
        return runProgram(words);
    };
    std::set<int> chosen; // group sizes
    for (const std::string lower : {"megatron", "megatron-separate", "megatron-overlapped-flush"}) {
        for (const std::string communicators : {"one", "edge"}) {
            SCOPED_TRACE(lower + " " + communicators);
            std::int64_t best = std::numeric_limits<std::int64_t>::max();
            for (int group = 4; group <= 10; ++group) {
                const auto step = with({"simulate", "--schedule", "interleaved", "--flavor", "megatron", "--group-size",
                                        std::to_string(group)},
                                       lower, communicators);
                if (step.exit_code != 0) continue; // the last group is too small, or it hangs
                best = std::min(best, step.json()["makespan_ns"].get<std::int64_t>());
            }
            const auto found = with({"search"}, lower, communicators);
            if (lower == "megatron-overlapped-flush" && communicators == "one") { // hangs
                EXPECT_EQ(best, std::numeric_limits<std::int64_t>::max());
                EXPECT_EQ(found.exit_code, 3);
                EXPECT_NE(found.err.find("no schedule of this framework"), std::string::npos) << found.err;
                continue;
            }
            ASSERT_EQ(found.exit_code, 0) << found.err;
            EXPECT_EQ(found.json()["makespan_ns"], best);
            EXPECT_EQ(found.json()["schedule"]["flavor"], "megatron");
            EXPECT_EQ(found.json()["best_family"]["name"], "interleaved");
            chosen.insert(found.json()["best_family"]["group_size"].get<int>());
        }
    }
    EXPECT_GT(chosen.size(), 1U);
    const auto refused = with({"search", "--split-backward", "on"}, "megatron", "one");
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("--lower megatron runs only whole backwards"), std::string::npos) << refused.err;
}

} // namespace
} // namespace bubblescope::test
