#include "core/formats/perfetto/capture_names.h"
#include "core/formats/read_trace.h"
#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/shared_data.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <sys/wait.h>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kPython = "/usr/bin/python3";

/// Python jobs, recorded as they are. The frameworks are fakes of the same shape, in the folder of job.py.
class Adapters : public testing::Test {
protected:
    void SetUp() override {
        if (!std::filesystem::exists(kPython)) GTEST_SKIP() << kPython << " is not installed";
    }

    [[nodiscard]] static std::string shell() {
        return "export PYTHONDONTWRITEBYTECODE=1 JOB='" BUBBLESCOPE_TEST_FAKES "/job.py' PY=" + std::string(kPython) +
               "; ";
    }
    /// `words` runs in a shell, where $JOB is Python with the job's file, and both ranks of a pipeline if `ranks` is 2.
    ProgramResult record(const std::string& words, int ranks = 1, std::vector<std::string> options = {}) {
        std::vector<std::string> command{"record", "--out", dir()};
        command.insert(command.end(), options.begin(), options.end());
        std::string line = shell();
        for (int rank = 0; rank < ranks; ++rank) {
            const std::string number = std::to_string(rank);
            line += "env RANK=" + number + " WORLD_SIZE=" + std::to_string(ranks) + " FAKE_RANK=" + number + " " +
                    words + (rank + 1 < ranks ? " && " : "");
        }
        command.insert(command.end(), {"--", "sh", "-c", line});
        return runProgram(command);
    }
    [[nodiscard]] std::string dir() const { return scratch_.file("traces"); }
    [[nodiscard]] std::map<std::string, int> slices() const {
        JobControl control;
        const auto read = readTraces({dir()}, control);
        if (!read.ok()) return {};
        std::map<std::string, int> names;
        const Trace& trace = *read.value().trace;
        for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
            if (trace.category(slice) == perfetto::kCaptureCategory) continue; // how busy the machine was
            ++names[std::string(trace.name(slice))];
        }
        return names;
    }
    /// Two ranks with two stages each: each op and transfer twice.
    [[nodiscard]] static std::map<std::string, int> slicesOfFourStages(int microbatches) {
        std::map<std::string, int> names;
        for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
            for (const char* op : {"0F",      "1F",      "2F",      "3F",      "0B",      "1B",      "2B",
                                   "3B",      "0SEND_F", "1RECV_F", "1SEND_F", "2RECV_F", "2SEND_F", "3RECV_F",
                                   "3SEND_B", "2RECV_B", "2SEND_B", "1RECV_B", "1SEND_B", "0RECV_B"})
                names[op + std::to_string(microbatch)] = 2;
        }
        return names;
    }
    [[nodiscard]] std::string log() const {
        std::ifstream file(dir() + "/capture.log");
        return {std::istreambuf_iterator<char>(file), {}};
    }

    ScratchFolder scratch_;
};

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
        // Two steps, an evaluation, and a step of pairs, which have no names.
        EXPECT_EQ(log().find("lacks something"), std::string::npos) << log();
        EXPECT_THAT(log(),
                    HasSubstr("PipelineParallelWithInterleave of PaddlePaddle is recorded without names of ops"));
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
    EXPECT_THAT(log(), HasSubstr("without names"));
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
        ++found[forward ? "forward" : "backward"];
    }
    EXPECT_GT(found["forward"], 0) << analysis["anomalies"].dump(1);
    EXPECT_GT(found["backward"], 0) << analysis["anomalies"].dump(1);
    const ProgramResult watched = runProgram({"monitor", dir(), "--steps", "20", "--patience", "100ms"});
    EXPECT_THAT(watched.out, HasSubstr("layer 6 (transient) is mismatched"));
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

TEST_F(Adapters, ChecksThatMayCostNothingAreNotMade) {
    ASSERT_EQ(record("$PY $JOB checks", 2, {"--aadiff", "--aadiff-cost", "0"}).exit_code, 0) << log();
    const auto analysis = runProgram({"analyze", dir(), "--json", "--all"}).json();
    EXPECT_FALSE(analysis.contains("aadiff"));
    for (const auto& finding : analysis["anomalies"])
        EXPECT_NE(finding["kind"], "aadiff-mismatch");
}

/// With the frameworks themselves, where a Python environment with them is named.
class OutsideFrameworks : public Adapters {
protected:
    void SetUp() override {
        Adapters::SetUp();
        const char* const set = std::getenv("BUBBLESCOPE_FRAMEWORKS");
        if (set == nullptr) GTEST_SKIP() << "BUBBLESCOPE_FRAMEWORKS names no Python environment with the frameworks";
        torchrun_ = std::string(set) + "/bin/torchrun";
    }
    std::string torchrun_;
};

class OutsideJobs : public OutsideFrameworks, public testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(OutsideJobs, AreRecognisedUnchanged) {
    const std::filesystem::path jobs = sharedDir() / "jobs";
    if (!std::filesystem::exists(jobs)) GTEST_SKIP() << "needs jobs of the frameworks";
    std::vector<std::string> words = GetParam();
    const std::string family = words.front();
    const std::string called = words[1];
    words.erase(words.begin(), words.begin() + 2);
    words.front() = (jobs / words.front()).string();
    std::vector<std::string> command{"record",           "--out", dir(), "--", "env", "DS_ACCELERATOR=cpu", torchrun_,
                                     "--nproc-per-node", "4"};
    command.insert(command.end(), words.begin(), words.end());
    const ProgramResult recorded = runProgram(command);
    ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
    EXPECT_EQ(log(), "");
    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    EXPECT_EQ(analysis["schedule"]["schedule"], family);
    EXPECT_EQ(analysis["schedule"]["called"], called);
    EXPECT_EQ(analysis["schedule"]["confidence"], 1);
    EXPECT_EQ(analysis["schedule"]["layers"],
              std::vector<int>(static_cast<std::size_t>(analysis["schedule"]["pp"].get<int>() *
                                                        analysis["schedule"]["vpp"].get<int>()),
                               4));
    EXPECT_EQ(analysis["steps"].size(), 4U);
    EXPECT_EQ(analysis["trace"]["problems"].size(), 0U) << analysis["trace"]["problems"];
}

/// A job of PyTorch whose ranks compute one layer wrongly now and then, and have layers that cannot be checked.
TEST_F(OutsideFrameworks, ChecksInPyTorchsBubblesFindFlippedBits) {
    const auto run = [&](std::vector<std::string> command) {
        for (const std::string& word :
             {std::string("--"), torchrun_, std::string("--nproc-per-node"), std::string("2"),
              std::string(BUBBLESCOPE_TEST_FAKES "/../flipping_torch.py"), std::string("100")})
            command.push_back(word);
        return runProgram(command);
    };
    const ProgramResult recorded = run({"record", "--aadiff", "--aadiff-cost", "100", "--out", dir()});
    ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
    EXPECT_THAT(recorded.out, HasSubstr("weights "));
    EXPECT_EQ(recorded.out, run({"record", "--out", scratch_.file("unchecked")}).out);
    EXPECT_THAT(log(), HasSubstr("(body.1) is not checked in bubbles: it changes its running statistics as it runs"));
    EXPECT_THAT(log(), HasSubstr("(body.2) is not checked in bubbles: it is not deterministic"));
    EXPECT_THAT(log(), HasSubstr("(body.3) is not checked in bubbles: it changes its attribute 'calls' as it runs"));
    EXPECT_THAT(log(), HasSubstr("(body.4) is not checked in bubbles: it communicates"));
    EXPECT_THAT(log(),
                HasSubstr("(body.8) is not checked in bubbles: it changes its attribute 'generator' as it runs"));
    EXPECT_THAT(log(), HasSubstr("(body.10) is not checked in bubbles: it draws from the random numbers of Python"));
    EXPECT_THAT(log(), HasSubstr("layer 5 of stage 0 (body.5), micro-batch"));
    EXPECT_THAT(log(), HasSubstr("computing its output again gave different bits (transient)"));
    EXPECT_THAT(log(), HasSubstr("layer 7 of stage 0 (body.7), micro-batch"));
    EXPECT_THAT(log(), HasSubstr("computing its input gradient again gave different bits (transient)"));
    const auto analysis = runProgram({"analyze", dir(), "--json", "--all"}).json();
    const auto& replays = analysis["aadiff"]["checks"]["replay"];
    EXPECT_GT(replays["equal"].get<int>(), 0);
    EXPECT_GT(replays["mismatched"].get<int>(), 0);
    for (const auto& finding : analysis["anomalies"]) {
        if (finding["kind"] != "aadiff-mismatch") continue;
        EXPECT_EQ(finding["rank"], 0);
        const auto message = finding["message"].get<std::string>();
        const bool forward = message.find("of layer 5, output") != std::string::npos;
        EXPECT_THAT(message, HasSubstr(forward ? "of layer 5, output" : "of layer 7, input gradient"));
        EXPECT_THAT(message, HasSubstr(forward ? "bit 20 flipped" : "bit 21 flipped"));
        EXPECT_THAT(message, HasSubstr("transient"));
    }
}

/// With one chunk and with two: forwards and backwards of Megatron-core's schedules, its loss and its tokens.
TEST_F(OutsideFrameworks, ChecksInMegatronsBubblesFindFlippedBits) {
    for (const std::string chunks : {"1", "2"}) {
        const ProgramResult recorded =
            runProgram({"record", "--aadiff", "--aadiff-cost", "100", "--out", dir(), "--", torchrun_,
                        "--nproc-per-node", "2", BUBBLESCOPE_TEST_FAKES "/../flipping_megatron.py", "160", chunks});
        ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
        EXPECT_THAT(log(), HasSubstr("computing its output again gave different bits (transient)"));
        EXPECT_THAT(log(), HasSubstr("computing its input gradient again gave different bits (transient)"));
        EXPECT_THAT(log(), Not(HasSubstr("no more checks")));
        const auto analysis = runProgram({"analyze", dir(), "--json", "--all"}).json();
        EXPECT_EQ(analysis["schedule"]["confidence"], 1);
        EXPECT_GT(analysis["aadiff"]["checks"]["replay"]["equal"].get<int>(), 0);
        for (const auto& finding : analysis["anomalies"]) {
            if (finding["kind"] != "aadiff-mismatch") continue;
            EXPECT_EQ(finding["rank"], 0);
            const auto message = finding["message"].get<std::string>();
            EXPECT_THAT(message,
                        HasSubstr(message.find("output") != std::string::npos ? "bit 3 flipped" : "bit 4 flipped"));
        }
        const auto& last = analysis["steps"].back();
        if (chunks == "1") { // the job's loss with two chunks does not stay finite
            EXPECT_THAT(recorded.out, HasSubstr(fmt::format("loss {:.6f}", last["loss"].get<double>())));
        }
        EXPECT_EQ(last["tokens"], 8 * 16);
        EXPECT_EQ(last["sequence_length"], 16);
        std::filesystem::remove_all(dir());
    }
}

/// An order that a file gives, which has no name in PyTorch.
TEST_F(OutsideFrameworks, PyTorchsScheduleFilesAreRecognised) {
    const std::string order = scratch_.file("order.csv");
    const ProgramResult schedule =
        runProgram({"schedule", "--schedule", "looped-bfs", "--pp", "2", "--vpp", "2", "--microbatches", "4", "--csv"});
    ASSERT_EQ(schedule.exit_code, 0) << schedule.err;
    std::ofstream(order) << schedule.out;
    const ProgramResult recorded =
        runProgram({"record", "--aadiff", "--aadiff-cost", "100", "--out", dir(), "--", torchrun_, "--nproc-per-node",
                    "2", BUBBLESCOPE_TEST_FAKES "/../csv_torch.py", "60", order, "2", "4"});
    ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
    EXPECT_THAT(log(), Not(HasSubstr("no more checks")));
    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    EXPECT_EQ(analysis["schedule"]["schedule"], "looped-bfs");
    EXPECT_EQ(analysis["schedule"]["called"], "_PipelineScheduleRuntime");
    EXPECT_EQ(analysis["schedule"]["layers"], (std::vector<int>{3, 3, 3, 3}));
    EXPECT_EQ(analysis["steps"].size(), 60U);
    EXPECT_TRUE(analysis.contains("aadiff")) << "its order is that of the plan";
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, OutsideJobs,
    testing::Values(std::vector<std::string>{"1f1b", "Schedule1F1B", "torch_pipelining.py", "1f1b", "6", "4"},
                    std::vector<std::string>{"fthenb", "ScheduleGPipe", "torch_pipelining.py", "gpipe", "5", "4"},
                    std::vector<std::string>{"interleaved", "ScheduleInterleaved1F1B", "torch_pipelining.py", "int",
                                             "4", "4"},
                    std::vector<std::string>{"zb-v", "ScheduleZBVZeroBubble", "torch_pipelining.py", "zbv", "7", "4"},
                    std::vector<std::string>{"interleaved-zb", "ScheduleInterleavedZeroBubble", "torch_pipelining.py",
                                             "izb", "8", "4"},
                    std::vector<std::string>{"1f1b", "forward_backward_pipelining_without_interleaving",
                                             "megatron_core.py", "1", "6", "4"},
                    std::vector<std::string>{"interleaved", "forward_backward_pipelining_with_interleaving",
                                             "megatron_core.py", "2", "8", "4"},
                    std::vector<std::string>{"1f1b", "TrainSchedule", "deepspeed_pipeline.py", "4"}));

/// With PaddlePaddle itself, where BUBBLESCOPE_PADDLE names a Python environment with it.
struct PaddlePipeline {
    const char* family;
    const char* called;
    int chunks;
    int microbatches;
    const char* more;
};
class OutsidePaddle : public Adapters, public testing::WithParamInterface<PaddlePipeline> {};

TEST_P(OutsidePaddle, PipelinesAreRecognisedUnchanged) {
    const char* const set = std::getenv("BUBBLESCOPE_PADDLE");
    if (set == nullptr) GTEST_SKIP() << "BUBBLESCOPE_PADDLE names no Python environment with PaddlePaddle";
    constexpr int kRanks = 4;
    constexpr int kSteps = 3;
    const PaddlePipeline& pipeline = GetParam();
    const std::string logs = scratch_.file("logs");
    const auto logOf = [&](int rank) {
        std::ifstream file(fmt::format("{}/workerlog.{}", logs, rank));
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    std::vector<std::string> command{"record",
                                     "--out",
                                     dir(),
                                     "--",
                                     std::string(set) + "/bin/python",
                                     "-m",
                                     "paddle.distributed.launch",
                                     "--nproc_per_node",
                                     std::to_string(kRanks),
                                     "--log_dir",
                                     logs,
                                     BUBBLESCOPE_TEST_FAKES "/../pipeline_paddle.py",
                                     std::to_string(pipeline.chunks),
                                     std::to_string(pipeline.microbatches),
                                     std::to_string(kSteps)};
    if (*pipeline.more != 0) command.emplace_back(pipeline.more);
    ProgramResult recorded;
    std::string all;
    for (int attempt = 0; attempt < 8; ++attempt) {
        std::filesystem::remove_all(dir());
        std::filesystem::remove_all(logs);
        recorded = runProgram(command);
        all.clear();
        for (int rank = 0; rank < kRanks; ++rank)
            all += logOf(rank);
        // PaddlePaddle's groups sometimes fail to connect as they are made, recorded or not.
        if (recorded.exit_code == 0 || all.find("Connection refused") == std::string::npos) break;
    }
    if (recorded.exit_code != 0 && all.find("Connection refused") != std::string::npos)
        GTEST_SKIP() << "PaddlePaddle's own groups did not connect in eight attempts";
    ASSERT_EQ(recorded.exit_code, 0) << recorded.err << logOf(0);
    EXPECT_EQ(log(), "");
    std::map<std::string, int> kinds;
    for (const auto& [name, count] : slices())
        kinds[name == "Optimizer" ? name : name.substr(name.find_first_not_of("0123456789"), 1)] += count;
    const int stages = kRanks * pipeline.chunks;
    const int ops = kSteps * stages * pipeline.microbatches;
    const int transfers = kSteps * (stages - 1) * pipeline.microbatches * 2;
    EXPECT_EQ(kinds, (std::map<std::string, int>{
                         {"F", ops}, {"B", ops}, {"S", transfers}, {"R", transfers}, {"Optimizer", kSteps * kRanks}}));
    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    EXPECT_EQ(analysis["schedule"]["schedule"], pipeline.family);
    EXPECT_EQ(analysis["schedule"]["called"], pipeline.called);
    EXPECT_EQ(analysis["schedule"]["confidence"], 1);
    EXPECT_EQ(analysis["schedule"]["layers"], std::vector<int>(static_cast<std::size_t>(stages), 3));
    ASSERT_EQ(analysis["steps"].size(), static_cast<std::size_t>(kSteps));
    EXPECT_EQ(analysis["steps"][0]["samples"], 4 * pipeline.microbatches);
    const std::string loss = fmt::format("loss {:.6f}", analysis["steps"].back()["loss"].get<double>());
    EXPECT_THAT(logOf(0), HasSubstr(loss));
    EXPECT_EQ(analysis["trace"]["problems"].size(), 0U) << analysis["trace"]["problems"];
}

INSTANTIATE_TEST_SUITE_P(
    Pipelines, OutsidePaddle,
    testing::Values(PaddlePipeline{"1f1b", "PipelineParallel", 1, 6, ""},
                    PaddlePipeline{"interleaved", "PipelineParallelWithInterleave", 2, 8, ""},
                    PaddlePipeline{"interleaved", "PipelineParallelWithInterleave", 2, 8, "balanced"},
                    PaddlePipeline{"interleaved-fthenb", "PipelineParallelWithInterleaveFthenB", 2, 4, ""},
                    PaddlePipeline{"vpp-balanced-memory", "VPPFhenBInBalancedMemory", 2, 4, "balanced"}),
    [](const auto& test) {
        return std::string(test.param.called) + (*test.param.more != 0 ? "_" + std::string(test.param.more) : "");
    });

/// The sizes of a search, and the name that its placement needs in addition to the file.
struct SearchedOrder {
    const char* vpp;
    const char* placement;
    const char* split;
    const char* name;
};
class OutsideSearchedOrders : public OutsideFrameworks, public testing::WithParamInterface<SearchedOrder> {};

// PyTorch's runtime follows the file of an order that no family has, op by op.
TEST_P(OutsideSearchedOrders, RunInPyTorchAsFound) {
    const SearchedOrder& order = GetParam();
    const int stages = 4 * (order.vpp[0] - '0');
    std::string times = "forward,input_grad,weight_grad\n";
    for (int stage = 0; stage < stages; ++stage)
        times += std::to_string(8 + 5 * stage % 7) + "ms," + std::to_string(9 + 3 * stage % 5) + "ms,9ms\n";
    const std::string file = scratch_.file("order.csv");
    const ProgramResult found = runProgram({"search",
                                            "--pp",
                                            "4",
                                            "--microbatches",
                                            "6",
                                            "--vpp",
                                            order.vpp,
                                            "--stage-times",
                                            scratch_.write("times.csv", times).string(),
                                            "--placement",
                                            order.placement,
                                            "--split-backward",
                                            order.split,
                                            "--rounds",
                                            "1",
                                            "--for",
                                            "torchtitan",
                                            "--out",
                                            file,
                                            "--json"});
    ASSERT_EQ(found.exit_code, 0) << found.err;
    EXPECT_EQ(found.json()["framework"]["schedule"], order.name);
    const ProgramResult recorded =
        runProgram({"record", "--out", dir(), "--", torchrun_, "--nproc-per-node", "4",
                    BUBBLESCOPE_TEST_FAKES "/../torch_order.py", file, order.name, "6", "4"});
    ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
    const auto analysis = runProgram({"analyze", dir(), "--schedule-file", file, "--json"}).json();
    EXPECT_EQ(analysis["schedule"]["confidence"], 1) << analysis["schedule"];
    EXPECT_THAT(analysis["schedule"]["evidence"].dump(), HasSubstr("4 of 4 steps have this order"));
    EXPECT_EQ(analysis["schedule"]["called"], "_PipelineScheduleRuntime");
    EXPECT_EQ(analysis["trace"]["problems"].size(), 0U) << analysis["trace"]["problems"];
}

INSTANTIATE_TEST_SUITE_P(Orders, OutsideSearchedOrders,
                         testing::Values(SearchedOrder{"1", "loop", "on", "1F1B"},
                                         SearchedOrder{"1", "loop", "off", "1F1B"},
                                         SearchedOrder{"2", "loop", "on", "Interleaved1F1B"},
                                         SearchedOrder{"2", "v", "auto", "ZBVZeroBubble"}),
                         [](const auto& test) { return std::string(test.param.name) + "_" + test.param.split; });

} // namespace
} // namespace bubblescope::test
