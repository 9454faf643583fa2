#include "tests/capture/adapters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <sys/wait.h>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

TEST_F(Adapters, PyTorchsPipelineHasItsOpsTransfersAndSteps) {
    ASSERT_EQ(record("$PY $JOB torch", 2).exit_code, 0) << log();
    EXPECT_EQ(log(), "");
    std::map<std::string, int> expected{{"Optimizer", 6}};
    for (const std::string mb : {"0", "1", "2"}) {
        for (const char* op : {"0F", "1F", "0B", "1B", "0SEND_F", "1RECV_F", "1SEND_B", "0RECV_B"})
            expected[op + mb] = 3;
    }
    EXPECT_EQ(slices(), expected) << "and none of the evaluation";
    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    EXPECT_EQ(analysis["schedule"]["schedule"], "fthenb");
    EXPECT_EQ(analysis["schedule"]["framework"], "torch.distributed.pipelining 2.15.0");
    EXPECT_EQ(analysis["schedule"]["called"], "ScheduleGPipe");
    EXPECT_EQ(analysis["steps"].size(), 3U);
    EXPECT_EQ(analysis["trace"]["mesh"]["source"], "framework");
    const ProgramResult watched = runProgram({"monitor", dir(), "--steps", "2", "--patience", "100ms"});
    EXPECT_THAT(watched.out, HasSubstr(R"("schedule":"fthenb")"));
}

// Two batches, and the wait that ends with none; a full collection, and not that of the youngest objects.
TEST_F(Adapters, WaitsForDataAndFullCollectionsAreRanges) {
    ASSERT_EQ(record("$PY $JOB loading", 1).exit_code, 0) << log();
    EXPECT_EQ(log(), "");
    const auto recorded = slices();
    EXPECT_EQ(recorded.at("DataLoader"), 3);
    EXPECT_EQ(recorded.at("gc"), 1);
    EXPECT_EQ(recorded.at("0F0"), 2);
}

// Two processes on one core: each is ready to run half of the time, and waits.
TEST_F(Adapters, WaitsForACoreAreRecorded) {
    const std::string both = shell() +
                             "for R in 0 1; do RANK=$R WORLD_SIZE=2 FAKE_RANK=$R taskset -c 0 $PY $JOB busy & "
                             "done; wait";
    ASSERT_EQ(runProgram({"record", "--python-ranges", "--out", dir(), "--", "sh", "-c", both}).exit_code, 0) << log();
    JobControl control;
    const auto read = readTraces({dir()}, control);
    ASSERT_TRUE(read.ok());
    const Trace& trace = *read.value().trace;
    TimeNs waited{0};
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (trace.name(slice) == perfetto::kCaptureWaitForCore) waited += trace.end(slice) - trace.start(slice);
    }
    EXPECT_GT(waited, std::chrono::milliseconds(300)) << "of at least a second that both want to run";
}

// In a batch that is waited for as a whole, the send lasts until all transfers are done, the receive until its data has
// arrived.
TEST_F(Adapters, PyTorchsBatchesShowBothTransfers) {
    ASSERT_EQ(record("$PY $JOB torch_batches", 2).exit_code, 0) << log();
    EXPECT_EQ(log(), "");
    JobControl control;
    const auto read = readTraces({dir()}, control);
    ASSERT_TRUE(read.ok());
    const Trace& trace = *read.value().trace;
    std::map<std::string, SliceId> slices;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice)
        EXPECT_TRUE(slices.try_emplace(std::string(trace.name(slice)), slice).second ||
                    trace.name(slice).find("ND_") == std::string_view::npos)
            << trace.name(slice);
    const auto expectBatch = [&](const std::string& send, const std::string& receive, const std::string& op) {
        ASSERT_TRUE(slices.contains(send) && slices.contains(receive)) << send << receive;
        const SliceId sent = slices[send];
        const SliceId received = slices[receive];
        EXPECT_LE(trace.start(sent), trace.start(received));
        EXPECT_GE(trace.end(sent) - trace.end(received), TimeNs{10'000'000}) << "two works of 5 ms";
        EXPECT_GE(trace.start(slices[op]), trace.end(sent));
    };
    for (const std::string mb : {"0", "1", "2"})
        expectBatch("0SEND_F" + mb, "0RECV_B" + mb, "0B" + mb);
    expectBatch("1SEND_B0", "1RECV_F1", "1F1");
    expectBatch("1SEND_B1", "1RECV_F2", "1F2");
}

TEST_F(Adapters, StepsHaveTheirLossAndTokens) {
    struct Case {
        std::string framework;
        double loss;
        int tokens;
        int samples;
        int sequence_length;
    };
    for (const Case& one :
         {Case{"torch", 3, 96, 6, 16}, Case{"megatron", 2.5, 256, 8, 32}, Case{"deepspeed", 1.5, 48, 6, 8}}) {
        ASSERT_EQ(record("$PY $JOB " + one.framework, 2).exit_code, 0) << log();
        EXPECT_EQ(log(), "");
        const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
        for (const auto& step : analysis["steps"]) {
            EXPECT_EQ(step["loss"], one.loss) << one.framework;
            EXPECT_EQ(step["tokens"], one.tokens);
            EXPECT_EQ(step["samples"], one.samples);
            EXPECT_EQ(step["sequence_length"], one.sequence_length);
        }
        const ProgramResult watched = runProgram({"monitor", dir(), "--steps", "1", "--patience", "100ms"});
        EXPECT_THAT(watched.out, HasSubstr(R"("tokens":)" + std::to_string(one.tokens))) << watched.out;
        std::filesystem::remove_all(dir());
    }
}

TEST_F(Adapters, PyTorchsLossesThatAreNotDividedAreAddedUp) {
    ASSERT_EQ(record("FAKE_TORCH_ADDS=1 $PY $JOB torch", 2).exit_code, 0) << log();
    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    ASSERT_EQ(analysis["steps"].size(), 3U);
    for (const auto& step : analysis["steps"])
        EXPECT_EQ(step["loss"], 9) << "2, 3 and 4: parts of one loss";
}

TEST_F(Adapters, ReplicasAddUpTheirTokens) {
    ASSERT_EQ(record("FAKE_WORLD=6 $PY $JOB torch", 6).exit_code, 0) << log();
    const ProgramResult text = runProgram({"analyze", dir(), "--all"});
    EXPECT_THAT(text.out, HasSubstr("tokens")) << text.out;
    EXPECT_THAT(text.out, HasSubstr("288")) << "of three replicas";
    const ProgramResult watched = runProgram({"monitor", dir(), "--steps", "1", "--patience", "100ms"});
    EXPECT_THAT(watched.out, HasSubstr(R"("loss":3.0,"tokens":288,"samples":18,"sequence_length":16)"));
    EXPECT_THAT(watched.out, HasSubstr(R"("backend":"torch.distributed.pipelining 2.15.0: ScheduleGPipe")"));
}

TEST_F(Adapters, ReplicasOfAPipelineAreToldApart) {
    ASSERT_EQ(record("FAKE_WORLD=6 $PY $JOB torch", 6).exit_code, 0) << log();
    EXPECT_EQ(log(), "");
    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    EXPECT_EQ(analysis["trace"]["mesh"]["source"], "framework");
    const std::string sizes = analysis["trace"]["mesh"].dump();
    EXPECT_THAT(sizes, HasSubstr(R"("dp":3)"));
    EXPECT_THAT(sizes, HasSubstr(R"("pp":2)"));
    EXPECT_EQ(analysis["schedule"]["pp"], 2);
}

TEST_F(Adapters, MegatronsBackwardsAndTransfersFindTheirMicrobatch) {
    ASSERT_EQ(record("$PY $JOB megatron", 2).exit_code, 0) << log();
    EXPECT_EQ(log(), "");
    EXPECT_EQ(slices(), slicesOfFourStages(4));
    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    EXPECT_EQ(analysis["schedule"]["vpp"], 2);
    EXPECT_EQ(analysis["schedule"]["called"], "forward_backward_pipelining_with_interleaving");
    EXPECT_EQ(analysis["steps"].size(), 2U);
}

TEST_F(Adapters, CombinedForwardsAndBackwardsArePairs) {
    struct Case {
        std::string job;
        std::vector<std::string> schedule;
        std::string called;
        double loss;
    };
    const std::vector<std::string> interleaved{"interleaved-overlap", "--pp", "2", "--vpp", "2", "--microbatches", "4"};
    const std::vector<std::string> v{"dualpipev", "--pp", "2", "--microbatches", "4"};
    for (const auto& [job, schedule, called, loss] :
         {Case{"megatron_combined", interleaved, "forward_backward_pipelining_with_interleaving", 2.5},
          Case{"paddle_overlapped", interleaved, "PipelineParallelWithInterleave", 2.5},
          Case{"paddle_dualpipev", v, "DualPipeVParallel", 3.5}, Case{"DualPipeV", v, "DualPipeV", 1.5},
          Case{"DualPipe", {"dualpipe", "--pp", "2", "--microbatches", "4"}, "DualPipe", 0},
          Case{"DualPipe", {"dualpipe", "--pp", "4", "--microbatches", "8"}, "DualPipe", 0}}) {
        SCOPED_TRACE(job);
        const std::string order = orderFile(schedule);
        const int ranks = std::stoi(schedule[2]);
        ASSERT_EQ(record("FAKE_ORDER=" + order + " $PY $JOB " + job, ranks).exit_code, 0) << log();
        EXPECT_EQ(log(), "");
        const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
        EXPECT_EQ(analysis["schedule"]["schedule"], schedule[0]);
        EXPECT_FALSE(analysis["schedule"].contains("departs_at")) << analysis["schedule"].dump();
        EXPECT_EQ(analysis["schedule"]["called"], called);
        EXPECT_EQ(analysis["schedule"]["pp"], ranks);
        ASSERT_EQ(analysis["steps"].size(), 2U);
        if (loss > 0) {
            EXPECT_EQ(analysis["steps"][0]["loss"], loss);
        }
        std::filesystem::remove_all(dir());
    }
}

TEST_F(Adapters, SendsOfPairsAreNamed) {
    const std::string order = orderFile({"interleaved-overlap", "--pp", "2", "--vpp", "2", "--microbatches", "4"});
    for (const char* job : {"megatron_combined", "paddle_overlapped"}) {
        ASSERT_EQ(record("FAKE_ORDER=" + order + " $PY $JOB " + job, 2).exit_code, 0) << log();
        const auto found = slices();
        for (const char* name : {"(0F3;2B0)OVERLAP_F_B", "0SEND_F3", "2SEND_B0", "(3F3;3B2)OVERLAP_F_B", "3SEND_B2"})
            EXPECT_EQ(found.count(name) == 0 ? 0 : found.at(name), 2) << name;
        EXPECT_EQ(found.count("3SEND_F3"), 0U) << "the last stage";
        std::filesystem::remove_all(dir());
    }
}

// Without a function of the model for both, DualPipe calls the halves of a pair one after the other.
TEST_F(Adapters, HalvesThatRunApartAreOps) {
    const std::string order = orderFile({"dualpipe", "--pp", "2", "--microbatches", "4"});
    ASSERT_EQ(record("FAKE_NO_OVERLAP=1 FAKE_ORDER=" + order + " $PY $JOB DualPipe", 2).exit_code, 0) << log();
    const auto found = slices();
    EXPECT_EQ(found.at("2F1"), 2);
    EXPECT_EQ(found.at("1B0"), 2);
    EXPECT_EQ(found.count("(2F1;1B0)OVERLAP_F_B"), 0U);
}

TEST_F(Adapters, DeepSpeedsInstructionsAreOps) {
    ASSERT_EQ(record("$PY $JOB deepspeed", 2).exit_code, 0) << log();
    EXPECT_EQ(log(), "");
    const auto found = slices();
    for (const char* op : {"0F0", "0F2", "1F1", "0B2", "1B0", "0SEND_F1", "1RECV_F1", "1SEND_B2", "0RECV_B2"})
        EXPECT_EQ(found.count(op) == 0 ? 0 : found.at(op), 2) << op;
    EXPECT_EQ(found.count("0F3"), 0U);
    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    EXPECT_EQ(analysis["schedule"]["called"], "TrainSchedule");
    EXPECT_EQ(analysis["schedule"]["layers"], (std::vector<int>{5, 4}));
    EXPECT_EQ(analysis["steps"].size(), 2U);
}

TEST_F(Adapters, PaddlesChunksHaveTheirOpsAndTransfers) {
    for (const std::string version : {"3.3.1", "3.2.2"}) {
        ASSERT_EQ(record("FAKE_PADDLE_VERSION=" + version + " $PY $JOB paddle", 2).exit_code, 0) << log();
        EXPECT_EQ(log(), ""); // two steps and an evaluation
        std::map<std::string, int> expected = slicesOfFourStages(3);
        expected["Optimizer"] = 4;
        EXPECT_EQ(slices(), expected);
        const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
        EXPECT_EQ(analysis["schedule"]["framework"], "PaddlePaddle " + version);
        EXPECT_EQ(analysis["schedule"]["called"], "PipelineParallelWithInterleave");
        EXPECT_EQ(analysis["schedule"]["vpp"], 2);
        EXPECT_EQ(analysis["schedule"]["layers"], (std::vector<int>{2, 2, 2, 3})) << "of the most frequent class";
        ASSERT_EQ(analysis["steps"].size(), 2U);
        for (const auto& step : analysis["steps"]) {
            EXPECT_EQ(step["loss"], 2.5);
            EXPECT_EQ(step["tokens"], 192);
            EXPECT_EQ(step["samples"], 12);
            EXPECT_EQ(step["sequence_length"], 16);
        }
        std::filesystem::remove_all(dir());
    }
}

TEST_F(Adapters, PaddlesLossOnADeviceIsReadOneStepLater) {
    ASSERT_EQ(record("FAKE_PADDLE_GPU=1 $PY $JOB paddle", 2).exit_code, 0) << log();
    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    ASSERT_EQ(analysis["steps"].size(), 2U);
    EXPECT_EQ(analysis["steps"][0]["loss"], 2.5);
    EXPECT_FALSE(analysis["steps"][1].contains("loss"));
    EXPECT_EQ(analysis["steps"][1]["tokens"], 192);
}

TEST_F(Adapters, AFrameworkOfOnesOwnStatesItsOps) {
    ASSERT_EQ(record("$PY $JOB own", 2, {"--python-ranges"}).exit_code, 0) << log();
    EXPECT_EQ(slices(), (std::map<std::string, int>{{"0F0", 2},
                                                    {"0F1", 2},
                                                    {"0B0", 2},
                                                    {"0B1", 2},
                                                    {"1F0", 2},
                                                    {"1F1", 2},
                                                    {"1B0", 2},
                                                    {"1B1", 2},
                                                    {"1RECV_F0", 2},
                                                    {"1RECV_F1", 2},
                                                    {"Optimizer", 4}}));
    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    EXPECT_EQ(analysis["schedule"]["called"], "ours");
    EXPECT_EQ(analysis["steps"][0]["loss"], 4.5);
    EXPECT_EQ(analysis["steps"][0]["tokens"], 64);
    EXPECT_FALSE(analysis["steps"][1].contains("loss")) << "it is stated when the next one begins";
}

TEST_F(Adapters, OwnRangesAndFrameworksAreNotMixed) {
    ASSERT_EQ(record("$PY $JOB own", 1).exit_code, 0);
    EXPECT_TRUE(slices().empty());
    ASSERT_EQ(record("$PY $JOB torch", 1, {"--python-ranges"}).exit_code, 0);
    EXPECT_TRUE(slices().empty());
}

TEST_F(Adapters, PyTorchsProfilerGetsCuptiWhenItAsksForKernels) {
    const std::string cupti = "BUBBLESCOPE_CUPTI='" BUBBLESCOPE_STAND_IN "' ";
    const ProgramResult result = record(cupti + "$PY $JOB profiled");
    ASSERT_EQ(result.exit_code, 0) << log();
    EXPECT_THAT(result.out, HasSubstr("profiler of hosts gets 39\nprofiler of kernels gets 0"));
    EXPECT_THAT(log(), HasSubstr("torch.profiler uses CUPTI: kernels are recorded up to here"));
}

TEST_F(Adapters, NoPythonLeavesPythonAlone) {
    EXPECT_EQ(record("$PY $JOB torch", 1, {"--no-python"}).exit_code, 0);
    EXPECT_TRUE(slices().empty());
    EXPECT_FALSE(runProgram({"env", "--no-python", "--json"}).json().contains("PYTHONPATH"));
    EXPECT_EQ(record("$PY $JOB torch", 1, {"--no-python", "--python-ranges"}).exit_code, 2);
}

TEST_F(Adapters, AJobEndsAsItWouldHave) {
    struct Case {
        std::string words;
        int exit_code;
    };
    for (const auto& [words, exit_code] :
         std::vector<Case>{{"$PY $JOB raises", 1},
                           {"$PY $JOB leaves", 7},
                           {"$PY $JOB forks", 6},
                           {"$PY $JOB killed", 128 + SIGKILL},
                           {"$PY -S $JOB torch", 0},
                           {"$PY -I $JOB torch", 1}, // does not find the fakes, and has no adapters either
                           {"FAKE_TORCH_LACKS=1 $PY $JOB torch", 1},
                           {"FAKE_TORCH_VERSION=9.9.1 $PY $JOB torch", 0}}) {
        const int alone = std::system((shell() + "env " + words + " >/dev/null 2>&1; exit $?").c_str());
        EXPECT_EQ(WIFEXITED(alone) ? WEXITSTATUS(alone) : -1, exit_code) << words << " without a recording";
        EXPECT_EQ(record(words + "; exit $?").exit_code, exit_code) << words;
        std::filesystem::remove_all(dir());
    }
}

TEST_F(Adapters, ARaisedErrorLeavesNoRangeOpen) {
    EXPECT_EQ(record("$PY $JOB raises").exit_code, 1);
    const auto found = slices();
    EXPECT_EQ(found.at("0F8"), 2);
    EXPECT_EQ(found.at("0F9"), 1);
}

TEST_F(Adapters, AnUnknownVersionIsRecordedWithoutNames) {
    ASSERT_EQ(record("FAKE_TORCH_VERSION=9.9.1 $PY $JOB torch").exit_code, 0);
    EXPECT_TRUE(slices().empty());
    EXPECT_THAT(log(), HasSubstr("version 9.9.1 is not known"));
    EXPECT_THAT(log(), HasSubstr("without op names"));
}

TEST_F(Adapters, AFrameworkOfAnotherShapeIsLeftAsItIs) {
    record("FAKE_TORCH_LACKS=1 $PY $JOB torch; true");
    EXPECT_THAT(log(), HasSubstr("has no _wait_batch_p2p"));
    EXPECT_TRUE(slices().empty()) << "nothing is wrapped by halves";
}

TEST_F(Adapters, AProcessSeesNothingOfItAndKeepsItsOwnSitecustomize) {
    const std::string own = scratch_.file("own");
    std::filesystem::create_directories(own);
    std::ofstream(own + "/sitecustomize.py") << "print('the job has its own')\n";
    const std::string path = "PYTHONPATH=\"$PYTHONPATH:" + own + "\"";
    const ProgramResult recorded = record(path + " $PY $JOB looks");
    EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
    EXPECT_THAT(recorded.out, HasSubstr("the job has its own\n"));
    EXPECT_THAT(recorded.out, HasSubstr("['" + own + "'"));
    EXPECT_THAT(recorded.out, HasSubstr("['sitecustomize']"));
    std::ofstream(own + "/sitecustomize.py") << "raise ArithmeticError('of the job')\n";
    const ProgramResult broken = record(path + " $PY $JOB looks");
    EXPECT_EQ(broken.exit_code, 0);
    EXPECT_THAT(broken.err, HasSubstr("ArithmeticError: of the job")) << "as Python reports it";
}

TEST_F(Adapters, ChecksInBubblesFindWhatWasComputedWrongly) {
    ASSERT_EQ(record("$PY $JOB checks", 2, {"--aadiff", "--aadiff-cost", "100"}).exit_code, 0) << log();
    EXPECT_THAT(log(), HasSubstr("layer 1 of stage 0 (layer 1) is not checked in bubbles: it is not deterministic"));
    EXPECT_THAT(log(), HasSubstr("the backward of layer 0 of stage 0 (layer 0) is not checked in bubbles: it is not"));
    EXPECT_THAT(log(),
                HasSubstr("checks in bubbles begin on rank 0: 5 kinds of ops of 3 of 4 layers; its waits fit up"));
    EXPECT_THAT(log(), HasSubstr("checks in bubbles begin on rank 1: 12 kinds of ops of 6 of 6 layers"));
    const auto analysis = runProgram({"analyze", dir(), "--json", "--all"}).json();
    ASSERT_TRUE(analysis.contains("aadiff")) << analysis.dump();
    const auto& replays = analysis["aadiff"]["checks"]["replay"];
    EXPECT_GT(replays["equal"].get<int>(), 0);
    EXPECT_GT(replays["mismatched"].get<int>(), 0);
    EXPECT_EQ(analysis["trace"]["problems"].size(), 0U) << analysis["trace"]["problems"];
    // The layers of stages 0 and 1, which are on two ranks, are counted: 2 and 3.
    std::map<std::string, int> found;
    for (const auto& finding : analysis["anomalies"]) {
        if (finding["kind"] != "aadiff-mismatch") continue;
        const auto message = finding["message"].get<std::string>();
        const bool forward = message.find("of layer 6, output") != std::string::npos;
        EXPECT_EQ(finding["rank"], forward ? 0 : 1);
        EXPECT_THAT(message, HasSubstr(forward ? "of layer 6, output" : "of layer 7, weight gradient")) << message;
        EXPECT_THAT(message, HasSubstr(forward ? "bit 12 flipped" : "bit 8 flipped")) << message;
        EXPECT_THAT(message, HasSubstr(forward ? "device GPU-3f (cuda:0) of" : "device GPU-3f (cuda:1) of")) << message;
        ++found[forward ? "forward" : "backward"];
    }
    EXPECT_GT(found["forward"], 0) << analysis["anomalies"].dump(1);
    EXPECT_GT(found["backward"], 0) << analysis["anomalies"].dump(1);
    const ProgramResult watched = runProgram({"monitor", dir(), "--steps", "20", "--patience", "100ms"});
    EXPECT_THAT(watched.out, testing::ContainsRegex("mismatch in .*layer 6 \\(transient\\)"));
}

TEST_F(Adapters, ChecksThatCannotBeLeaveTheJobAlone) {
    ASSERT_EQ(record("$PY $JOB torch", 2, {"--aadiff"}).exit_code, 0);
    EXPECT_THAT(log(), HasSubstr("checks in bubbles have stopped"));
    EXPECT_EQ(slices().at("0F0"), 3);
    EXPECT_EQ(record("$PY $JOB torch", 1, {"--aadiff", "--no-python"}).exit_code, 2);
    EXPECT_EQ(record("$PY $JOB torch", 1, {"--aadiff", "--python-ranges"}).exit_code, 2);
    const auto variables =
        runProgram({"env", "--aadiff", "--aadiff-memory", "1MiB", "--aadiff-cost", "2", "--json"}).json();
    EXPECT_EQ(variables["BUBBLESCOPE_CAPTURE"], "checks=bubbles,checks-cost=2.000000,checks-memory=1048576");
}

TEST_F(Adapters, PaddlesPairsAreNotChecked) {
    const std::vector<std::string> pairs{"interleaved-overlap", "--pp", "2", "--vpp", "2", "--microbatches", "4"};
    const std::vector<std::string> v{"dualpipev", "--pp", "2", "--microbatches", "4"};
    for (const auto& [job, schedule, called] :
         {std::tuple("paddle_overlapped", pairs, "PipelineParallelWithInterleave"),
          std::tuple("paddle_dualpipev", v, "DualPipeVParallel")}) {
        const std::string words = "FAKE_ORDER=" + orderFile(schedule) + " $PY $JOB " + job;
        ASSERT_EQ(record(words, 2, {"--aadiff"}).exit_code, 0) << log();
        EXPECT_THAT(log(),
                    HasSubstr(std::string("stopped: ValueError: ") + called + " runs forwards and backwards as"));
        std::filesystem::remove_all(dir());
    }
}

TEST_F(Adapters, ChecksThatMayCostNothingAreNotMade) {
    ASSERT_EQ(record("$PY $JOB checks", 2, {"--aadiff", "--aadiff-cost", "0"}).exit_code, 0) << log();
    const auto analysis = runProgram({"analyze", dir(), "--json", "--all"}).json();
    EXPECT_FALSE(analysis.contains("aadiff"));
    for (const auto& finding : analysis["anomalies"])
        EXPECT_NE(finding["kind"], "aadiff-mismatch");
}

} // namespace
} // namespace bubblescope::test
