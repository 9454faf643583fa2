#include "tests/cli/program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

/// 1F1B on two ranks, two micro-batches, forward and backward of 1 ms, with more options.
ProgramResult simulated(std::vector<std::string> more) {
    std::vector<std::string> words{"simulate", "--schedule", "1f1b", "--pp",       "2",  "--microbatches",
                                   "2",        "--forward",  "1ms",  "--backward", "1ms"};
    words.insert(words.end(), more.begin(), more.end());
    return runProgram(words);
}

TEST(SimulateCommand, TransfersCostBytesOverBandwidth) {
    // 2 MB at 1 GB/s: 2 ms each way, and 1 ms of latency.
    const auto result = simulated({"--comm", "1ms", "--activation-bytes", "2MB", "--bandwidth", "1GB/s", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto latency = simulated({"--comm", "3ms", "--json"});
    EXPECT_EQ(result.json(), latency.json());
    const auto gradients = simulated(
        {"--comm", "1ms", "--activation-bytes", "2MB", "--gradient-bytes", "0", "--bandwidth", "1GB/s", "--json"});
    EXPECT_LT(gradients.json()["makespan_ns"], latency.json()["makespan_ns"]);
}

TEST(SimulateCommand, LinksAndStreamsSlowSingleTransfersDown) {
    const ScratchFolder scratch;
    const std::string links =
        scratch.write("links.json", R"({"links": [{"from": 1, "to": 0, "latency": "5ms"}]})").string();
    const auto slow = simulated({"--links", links, "--json"});
    ASSERT_EQ(slow.exit_code, 0) << slow.err;
    EXPECT_EQ(slow.json()["makespan_ns"], 6'000'000 + 5'000'000);
    const auto free = simulated({"--comm", "4ms", "--json"}).json()["makespan_ns"].get<std::int64_t>();
    const auto queued = simulated({"--comm", "4ms", "--comm-streams", "rank", "--json"}).json();
    EXPECT_GE(queued["makespan_ns"].get<std::int64_t>(), free);
    const auto held = simulated({"--comm", "4ms", "--no-comm-overlap", "--json"}).json();
    EXPECT_GT(held["makespan_ns"].get<std::int64_t>(), free);

    const std::string foreign =
        scratch.write("foreign.json", R"({"links": [{"from": 1, "to": 2, "latency": "5ms"}]})").string();
    const auto refused = simulated({"--links", foreign});
    EXPECT_EQ(refused.exit_code, 3);
    EXPECT_THAT(refused.err, HasSubstr("foreign.json: links[0]"));
}

TEST(SimulateCommand, BlockingSendsDeadlockWhereAsynchronousDoNot) {
    const auto blocked = simulated({"--sends", "blocking"});
    EXPECT_EQ(blocked.exit_code, 3);
    EXPECT_THAT(blocked.err, HasSubstr("rank 0 sends the activation of F1.0 and waits for rank 1 to receive it"));
    EXPECT_EQ(simulated({"--sends", "paired", "--json"}).json()["makespan_ns"], 6'000'000);
    EXPECT_EQ(simulated({"--sends", "sometimes"}).exit_code, 2);

    const ScratchFolder scratch;
    const std::string file =
        scratch
            .write("s.json",
                   runProgram({"schedule", "--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--json"}).out)
            .string();
    EXPECT_EQ(runProgram({"validate", file}).exit_code, 0);
    EXPECT_EQ(runProgram({"validate", file, "--sends", "batched"}).exit_code, 0);
    const auto found = runProgram({"validate", file, "--sends", "blocking", "--json"});
    EXPECT_EQ(found.exit_code, 3);
    EXPECT_EQ(found.json()["problems"][0]["kind"], "deadlock");
    EXPECT_EQ(found.json()["problems"][0]["index"], 1);
}

TEST(SimulateCommand, StageTimesServeEveryCommand) {
    const ScratchFolder scratch;
    const std::string json =
        scratch
            .write("t.json",
                   R"({"stages": [{"forward": "1ms", "backward": "2ms"}, {"forward": "3ms", "backward": "4ms"}]})")
            .string();
    const std::string csv = scratch.write("t.csv", "forward,backward\n1ms,2ms\n3ms,4ms\n").string();
    for (const std::string& file : {json, csv}) {
        const auto result = runProgram(
            {"simulate", "--schedule", "gpipe", "--pp", "2", "--microbatches", "4", "--stage-times", file, "--json"});
        ASSERT_EQ(result.exit_code, 0) << result.err;
        // sum(f) + (m-1)max(f) + sum(b) + (m-1)max(b)
        EXPECT_EQ(result.json()["makespan_ns"], (4 + 3 * 3 + 6 + 3 * 4) * 1'000'000);
    }
    EXPECT_EQ(runProgram({"schedule", "--schedule", "gpipe", "--pp", "2", "--microbatches", "2", "--stage-times", csv})
                  .exit_code,
              0);
    const auto wrong =
        runProgram({"simulate", "--schedule", "gpipe", "--pp", "3", "--microbatches", "2", "--stage-times", csv});
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("2 stages, but the schedule has 3"));
    EXPECT_EQ(runProgram({"simulate", "--schedule", "gpipe", "--pp", "2", "--microbatches", "2", "--stage-times", csv,
                          "--forward", "1ms"})
                  .exit_code,
              2);
    const std::string damaged = scratch.write("d.csv", "forward,backward\n1ms,2ms\n3ms\n").string();
    const auto unread =
        runProgram({"simulate", "--schedule", "gpipe", "--pp", "2", "--microbatches", "2", "--stage-times", damaged});
    EXPECT_EQ(unread.exit_code, 3);
    EXPECT_THAT(unread.err, HasSubstr("d.csv: line 3"));
}

TEST(SimulateCommand, WritesTracesOfStagesThatMove) {
    const ScratchFolder scratch;
    const std::string trace = scratch.file("moving.pftrace");
    const std::vector<std::vector<std::string>> schedules{
        {"weipipe", "--unshard", "2ms", "--reduce-grad", "1ms"},
        {"weipipe-naive"},
        {"weipipe-zb"},
        {"tawpipe", "--nodes", "2", "--comm", "1ms"},
        {"roundpipe", "--vpp", "2", "--comm", "1ms"},
    };
    for (const std::vector<std::string>& words : schedules) {
        SCOPED_TRACE(words.front());
        std::vector<std::string> simulate{"simulate", "--pp",       "4",    "--microbatches", "8",   "--forward",
                                          "10ms",     "--backward", "20ms", "--out",          trace, "--schedule"};
        simulate.insert(simulate.end(), words.begin(), words.end());
        simulate.insert(simulate.end(), {"--json", "--force"});
        const auto simulated = runProgram(simulate).json();
        for (const std::string name : {"moving.pftrace", "moving.json"}) {
            const std::string file = scratch.file(name);
            if (file != trace) {
                EXPECT_EQ(runProgram({"convert", trace, file, "--force"}).exit_code, 0);
            }
            const auto analysed = runProgram({"analyze", file, "--json"}).json();
            EXPECT_EQ(analysed["schedule"]["schedule"], words.front());
            EXPECT_EQ(analysed["schedule"]["placement"], "moving");
            EXPECT_EQ(analysed["schedule"]["source"], "stated");
            EXPECT_EQ(analysed["steps"][0]["wall_ns"], simulated["makespan_ns"]);
            for (std::size_t r = 0; r < 4; ++r)
                EXPECT_EQ(analysed["steps"][0]["ranks"][r]["bubble_ns"], simulated["ranks"][r]["bubble_ns"]);
            EXPECT_EQ(analysed["trace"]["problems"][0]["kind"], "unrecorded-weights");
        }
        EXPECT_EQ(runProgram({"diff", trace, scratch.file("moving.json")}).exit_code, 0);
        // Weights are not in the trace, so nothing can be predicted from it.
        for (const std::string command : {"whatif", "advise"}) {
            const auto refused = runProgram({command, trace});
            EXPECT_EQ(refused.exit_code, 2) << command;
            EXPECT_THAT(refused.err, HasSubstr("needs stages that stay on their ranks"));
        }
        EXPECT_EQ(runProgram({"search", "--from", trace}).exit_code, 2);
    }
}

TEST(SimulateCommand, WritesPlacementsThatExtractsKeep) {
    const ScratchFolder scratch;
    for (const auto& [schedule, encoders, placement] :
         {std::tuple{"weipipe", "", "moving"}, {"1f1b", "2+1", "encoders-2-1"}}) {
        const std::string trace = scratch.file(std::string(schedule) + ".pftrace");
        std::vector<std::string> words{"simulate",       "--schedule", schedule, "--pp", "4",
                                       "--microbatches", "8",          "--out",  trace};
        if (*encoders != 0) words.insert(words.end(), {"--encoders", encoders});
        ASSERT_EQ(runProgram(words).exit_code, 0);
        const std::string folder = scratch.file(std::string(schedule) + "-extract");
        ASSERT_EQ(runProgram({"extract", trace, "--out", folder}).exit_code, 0);
        const auto analysed = runProgram({"analyze", folder, "--json"}).json();
        EXPECT_EQ(analysed["schedule"]["schedule"], schedule);
        EXPECT_EQ(analysed["schedule"]["placement"], placement);
    }
}

/// Ops named as in PyTorch's traces, which contain no statement about the run.
TEST(AnalyzeCommand, GuessesStagesThatMove) {
    const ScratchFolder scratch;
    const auto simulated = runProgram({"simulate", "--schedule", "weipipe", "--pp", "3", "--microbatches", "9",
                                       "--forward", "10ms", "--backward", "20ms", "--json", "--ops"})
                               .json();
    for (int rank = 0; rank < 3; ++rank) {
        nlohmann::json events = nlohmann::json::array();
        for (const auto& op : simulated["ops"]) {
            if (op[3] != rank) continue;
            const std::string name =
                fmt::format("PP:{}{}{}", op[2].get<int>(), op[0].get<std::string>(), op[1].get<int>());
            const auto start = op[4].get<std::int64_t>();
            events.push_back({{"ph", "X"},
                              {"cat", "user_annotation"},
                              {"name", name},
                              {"pid", 1},
                              {"tid", 1},
                              {"ts", start / 1000},
                              {"dur", (op[5].get<std::int64_t>() - start) / 1000}});
        }
        scratch.write(fmt::format("traces/rank{}.json", rank), events.dump());
    }
    const auto analysed = runProgram({"analyze", scratch.file("traces"), "--json"}).json();
    EXPECT_EQ(analysed["schedule"]["schedule"], "weipipe");
    EXPECT_EQ(analysed["schedule"]["placement"], "moving");
    EXPECT_EQ(analysed["schedule"]["source"], "inferred");
    EXPECT_EQ(analysed["steps"][0]["wall_ns"], simulated["makespan_ns"]);
}

TEST(SimulateCommand, SendsWeightsInsteadOfActivations) {
    const auto withWeights = [](std::vector<std::string> words) {
        words.insert(words.begin(), {"simulate", "--pp", "4", "--microbatches", "8", "--forward", "10ms", "--backward",
                                     "20ms", "--schedule"});
        return runProgram(words);
    };
    const auto ring = withWeights({"weipipe", "--unshard", "2ms", "--reduce-grad", "1ms", "--json"}).json();
    EXPECT_EQ(ring["makespan_ns"], 305'000'000); // (m + p − 2)·30 ms, and 5 ms of messages
    EXPECT_EQ(ring["closed_form_ns"], ring["makespan_ns"]);
    EXPECT_EQ(ring["weight_messages"], 2 * 8 + 2 * 4 - 3);
    EXPECT_EQ(ring["ranks"][3]["peak_activations"], 4);
    const auto nodes =
        withWeights({"tawpipe", "--nodes", "2", "--unshard", "2ms", "--comm", "3ms", "--json", "--ops"}).json();
    EXPECT_EQ(nodes["makespan_ns"], 247'000'000); // m·30 ms, and the first messages
    EXPECT_EQ(nodes["ops"].size(), 2U * 4 * 8);
    EXPECT_THAT(withWeights({"weipipe-naive"}).out, HasSubstr("closed form: makespan"));
    EXPECT_THAT(withWeights({"tawpipe", "--csv", "-"}).out, testing::StartsWith("rank,"));

    const auto partial = runProgram({"simulate", "--schedule", "weipipe", "--pp", "4", "--microbatches", "7",
                                     "--forward", "10ms", "--backward", "20ms", "--json"})
                             .json();
    EXPECT_EQ(partial["makespan_ns"], 240'000'000); // 2·4·30 ms: the last round has only three micro-batches
    EXPECT_EQ(partial["closed_form_ns"], partial["makespan_ns"]);
    EXPECT_EQ(partial["ranks"][3]["busy_ns"], 120'000'000);
    EXPECT_EQ(withWeights({"weipipe", "--comm", "1ms"}).exit_code, 2);
    EXPECT_EQ(withWeights({"weipipe", "--nodes", "2"}).exit_code, 2);
    EXPECT_EQ(withWeights({"weipipe", "--vpp", "2"}).exit_code, 2);
    EXPECT_EQ(withWeights({"tawpipe", "--nodes", "3"}).exit_code, 2);
    EXPECT_EQ(withWeights({"tawpipe", "--comm", "1ms"}).exit_code, 2);
    EXPECT_EQ(withWeights({"1f1b", "--nodes", "2"}).exit_code, 2);

    const auto split = withWeights({"weipipe-zb", "--json", "--ops"}).json();
    EXPECT_EQ(split["makespan_ns"], 280'000'000); // 2·4·30 ms, and (p − 2)·20 ms
    EXPECT_EQ(split["closed_form_ns"], split["makespan_ns"]);
    EXPECT_EQ(split["ranks"][0]["peak_activations"], 7);
    EXPECT_EQ(split["ops"].size(), 3U * 4 * 8);

    // Commands that need stages on ranks name those that do not.
    for (const std::string command : {"schedule", "formula"}) {
        const auto other = runProgram({command, "--schedule", "WeiPipe", "--pp", "4", "--microbatches", "8"});
        EXPECT_EQ(other.exit_code, 2);
        EXPECT_THAT(other.err, HasSubstr("does not support weipipe"));
        EXPECT_THAT(other.err, HasSubstr("`bubblescope run` support it"));
    }
    EXPECT_THAT(withWeights({"weipip"}).err, HasSubstr("did you mean 'weipipe'?"));
}

TEST(SimulateCommand, ReplaysItsOwnOps) {
    const ScratchFolder scratch;
    const auto first = simulated({"--json", "--ops"});
    auto slower = first.json();
    slower["ops"][0][5] = slower["ops"][0][5].get<std::int64_t>() + 500'000; // F0 of rank 0
    const std::string file = scratch.write("ops.json", slower.dump()).string();
    const auto replayed = runProgram({"simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--forward",
                                      "9ms", "--op-times", file, "--json"});
    ASSERT_EQ(replayed.exit_code, 0) << replayed.err;
    EXPECT_EQ(replayed.json()["makespan_ns"], first.json()["makespan_ns"].get<std::int64_t>() + 500'000);
    const auto foreign = runProgram(
        {"simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "1", "--op-times", file, "--json"});
    EXPECT_EQ(foreign.exit_code, 3);
    EXPECT_THAT(foreign.err, HasSubstr("ops.json: ops[1]"));
}

TEST(FormulaCommand, GivesABoundForTransfersThatNoFormCovers) {
    const std::vector<std::string> words{"formula",        "--schedule", "1f1b",    "--pp",    "2",
                                         "--microbatches", "2",          "--sends", "batched", "--json"};
    const auto form = runProgram(words).json();
    EXPECT_EQ(form["kind"], "lower bound");
    EXPECT_THAT(form["note"].get<std::string>(), HasSubstr("asynchronous transfers"));
    EXPECT_LE(form["makespan_ns"], form["simulated_makespan_ns"]);
    auto blocking = words;
    blocking[8] = "blocking";
    EXPECT_EQ(runProgram(blocking).exit_code, 3);
}

constexpr const char* kModel = R"({"layers": [{"count": 4, "parameters": 1000000, "activation": "100MiB",
 "until_weight_grad": "40MiB"}], "first": {"parameters": 5000000}, "optimizer_shards": 4})";

TEST(MemoryCommand, GivesEveryRanksParts) {
    const ScratchFolder scratch;
    const std::string model = scratch.write("m.json", kModel).string();
    const std::vector<std::string> words{"memory",         "--schedule", "1f1b",           "--pp", "2",
                                         "--microbatches", "4",          "--memory-model", model};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), words.begin(), words.end());
        return runProgram(more);
    };
    const auto result = with({"--json", "--curve", "--memory-budget", "300MiB"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto document = result.json();
    const auto& first = document["ranks"][0];
    EXPECT_EQ(first["weights_bytes"], 14'000'000);
    EXPECT_EQ(first["optimizer_bytes"], 7'000'000 * 12 / 4);
    EXPECT_EQ(first["peak_activation_bytes"], 2 * 200 << 20);
    EXPECT_EQ(first["peak_op"]["op"], nlohmann::json::parse(R"(["F",1,0])"));
    EXPECT_EQ(first["over_budget"]["index"], 1);
    EXPECT_TRUE(document["ranks"][1]["over_budget"].is_null());
    EXPECT_EQ(first["curve"][0], nlohmann::json::parse("[0,49000000]"));

    const auto text = with({"--memory-budget", "300MiB", "--fail-on", "over-budget"});
    EXPECT_EQ(text.exit_code, 1);
    EXPECT_THAT(text.out, HasSubstr("Rank 0 exceeds 300 MiB from F1.0 on"));
    EXPECT_EQ(with({"--memory-budget", "1GiB", "--fail-on", "over-budget"}).exit_code, 0);
    EXPECT_EQ(with({"--memory-budget", "much"}).exit_code, 2);
    EXPECT_EQ(runProgram({"memory", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4"}).exit_code, 2);
    const auto few =
        runProgram({"memory", "--schedule", "1f1b", "--pp", "8", "--microbatches", "4", "--memory-model", model});
    EXPECT_EQ(few.exit_code, 2) << few.err;

    EXPECT_THAT(simulated({"--memory-model", model}).out, HasSubstr("memory, peak"));
    EXPECT_EQ(simulated({"--memory-model", model, "--json"}).json()["ranks"][1]["memory"]["peak_activation_bytes"],
              200 << 20);
}

TEST(MemoryCommand, ValidateChecksTheBudget) {
    const ScratchFolder scratch;
    const std::string model = scratch.write("m.json", kModel).string();
    const std::string file =
        scratch
            .write("s.json",
                   runProgram({"schedule", "--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--json"}).out)
            .string();
    EXPECT_EQ(runProgram({"validate", file, "--memory-model", model, "--memory-budget", "1GiB"}).exit_code, 0);
    const auto found = runProgram({"validate", file, "--memory-model", model, "--memory-budget", "300MiB", "--json"});
    EXPECT_EQ(found.exit_code, 3);
    EXPECT_EQ(found.json()["problems"].size(), 1U);
    EXPECT_EQ(found.json()["problems"][0]["kind"], "memory");
    EXPECT_EQ(found.json()["problems"][0]["index"], 1);
    const auto broken =
        runProgram({"validate", file, "--memory-model", scratch.write("b.json", R"({"layers": 5})").string()});
    EXPECT_EQ(broken.exit_code, 3);
    EXPECT_THAT(broken.err, HasSubstr("b.json: layers"));
}

} // namespace
} // namespace bubblescope::test
