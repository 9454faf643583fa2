#include "tests/capture/adapters.h"
#include "tests/support/shared_data.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace bubblescope::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

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

TEST_F(OutsideFrameworks, AJobThatStandsNamesItsCycle) {
    // Rank 1 wants both inputs before it computes; rank 0 sends the second one after the first gradient.
    const std::string order =
        scratch_
            .write("stands.csv", "0F0,0SEND_F0,0RECV_B0,0B0,0WAIT_SEND_F0,0F1,0SEND_F1,0RECV_B1,0B1,0WAIT_SEND_F1\n"
                                 "1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,1SEND_B1,1WAIT_SEND_B0,1WAIT_SEND_B1\n")
            .string();
    const ProgramResult recorded =
        runProgram({"record", "--out", dir(), "--", "timeout", "-s", "INT", "40", torchrun_, "--nproc-per-node", "2",
                    BUBBLESCOPE_TEST_FAKES "/../csv_torch.py", "1", order, "1", "2", "compute_comms"});
    EXPECT_NE(recorded.exit_code, 0);
    EXPECT_THAT(recorded.err, HasSubstr("The job deadlocked:"));
    EXPECT_THAT(recorded.err,
                HasSubstr("rank 0: 0RECV_B0 waits for 1SEND_B0; rank 1: 1SEND_B0 is posted only after 1RECV_F1"));
}

MATCHER_P(IsCheckedOn, rank, "") {
    return arg["rank"] == rank && arg["done"].template get<int>() > 0;
}

/// A job of PyTorch whose ranks compute one layer wrongly now and then, and have layers that cannot be checked.
TEST_F(OutsideFrameworks, ChecksInPyTorchsBubblesFindFlippedBits) {
    const auto run = [&](std::vector<std::string> command) {
        for (const std::string& word :
             {std::string("--"), torchrun_, std::string("--nproc-per-node"), std::string("2"),
              std::string(BUBBLESCOPE_TEST_FAKES "/../flipping_torch.py"), std::string("600")})
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
    EXPECT_THAT(log(), HasSubstr("(body.10) is not checked in bubbles: it uses random numbers of Python"));
    EXPECT_THAT(log(), HasSubstr("(body.11) is not checked in bubbles: it uses operators from 'shop', which may"));
    EXPECT_THAT(
        log(),
        HasSubstr(
            "the backward of layer 12 of stage 0 (body.12) is not checked in bubbles: it accumulates its weight"));
    EXPECT_THAT(log(), HasSubstr("layer 5 of stage 0 (body.5), micro-batch"));
    EXPECT_THAT(log(), HasSubstr("computing its output again gave different bits (transient)"));
    EXPECT_THAT(log(), HasSubstr("layer 7 of stage 0 (body.7), micro-batch"));
    EXPECT_THAT(log(), HasSubstr("computing its input gradient again gave different bits (transient)"));
    const auto analysis = runProgram({"analyze", dir(), "--json", "--all"}).json();
    const auto& replays = analysis["aadiff"]["checks"]["replay"];
    EXPECT_GT(replays["equal"].get<int>(), 0);
    EXPECT_GT(replays["mismatched"].get<int>(), 0);
    EXPECT_THAT(analysis["aadiff"]["units"], Contains(IsCheckedOn(1)));
    for (const auto& finding : analysis["anomalies"]) {
        if (finding["kind"] != "aadiff-mismatch") continue;
        EXPECT_EQ(finding["rank"], 0);
        const auto message = finding["message"].get<std::string>();
        const bool forward = message.find("of layer 5, output") != std::string::npos;
        EXPECT_THAT(message, HasSubstr(forward ? "of layer 5, output" : "of layer 7, input gradient"));
        EXPECT_THAT(message, HasSubstr(forward ? "bit 20 flipped" : "bit 21 flipped"));
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
class OutsidePaddleJobs : public Adapters {
protected:
    void SetUp() override {
        Adapters::SetUp();
        const char* const set = std::getenv("BUBBLESCOPE_PADDLE");
        if (set == nullptr) GTEST_SKIP() << "BUBBLESCOPE_PADDLE names no Python environment with PaddlePaddle";
        python_ = std::string(set) + "/bin/python";
    }

    /// Runs a job of this folder under `record` with these options. `job` is its file and its arguments.
    ProgramResult recordPaddle(const std::vector<std::string>& options, int ranks, std::vector<std::string> job) {
        job.front() = BUBBLESCOPE_TEST_FAKES "/../" + job.front();
        std::vector<std::string> command{"record", "--out", dir()};
        command.insert(command.end(), options.begin(), options.end());
        for (const std::string& word :
             {std::string("--"), python_, std::string("-m"), std::string("paddle.distributed.launch"),
              std::string("--nproc_per_node"), std::to_string(ranks), std::string("--log_dir"), scratch_.file("logs")})
            command.push_back(word);
        command.insert(command.end(), job.begin(), job.end());
        ProgramResult recorded;
        for (int attempt = 0; attempt < 8; ++attempt) {
            std::filesystem::remove_all(dir());
            std::filesystem::remove_all(scratch_.file("logs"));
            recorded = runProgram(command);
            // PaddlePaddle's groups sometimes fail to connect as they are made, recorded or not.
            unconnected_ = false;
            for (int rank = 0; rank < ranks; ++rank)
                unconnected_ = unconnected_ || logOf(rank).find("Connection refused") != std::string::npos;
            if (recorded.exit_code == 0 || !unconnected_) break;
        }
        unconnected_ = unconnected_ && recorded.exit_code != 0;
        return recorded;
    }

    std::string logOf(int rank) const {
        return test::readAll(fmt::format("{}/workerlog.{}", scratch_.file("logs"), rank));
    }

    std::string python_;
    bool unconnected_ = false; ///< true if no attempt of recordPaddle() connected the job's processes
};

struct PaddlePipeline {
    const char* family;
    const char* called;
    int chunks;
    int microbatches;
    const char* more;
};
class OutsidePaddle : public OutsidePaddleJobs, public testing::WithParamInterface<PaddlePipeline> {};

TEST_P(OutsidePaddle, PipelinesAreRecognisedUnchanged) {
    constexpr int kRanks = 4;
    constexpr int kSteps = 3;
    const PaddlePipeline& pipeline = GetParam();
    std::vector<std::string> job{"pipeline_paddle.py", std::to_string(pipeline.chunks),
                                 std::to_string(pipeline.microbatches), std::to_string(kSteps)};
    if (*pipeline.more != 0) job.emplace_back(pipeline.more);
    const ProgramResult recorded = recordPaddle({}, kRanks, job);
    if (unconnected_) GTEST_SKIP() << "PaddlePaddle's own groups did not connect in eight attempts";
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

/// With one chunk and with two: jobs whose rank 0 computes two layers wrongly now and then, and that have layers that
/// cannot be checked.
TEST_F(OutsidePaddleJobs, ChecksInBubblesFindFlippedBits) {
    for (const auto& [chunks, microbatches, ranks] : {std::tuple("1", "4", 2), std::tuple("2", "6", 3)}) {
        const std::vector<std::string> job{"flipping_paddle.py", chunks, microbatches, "100"};
        const ProgramResult recorded = recordPaddle({"--aadiff", "--aadiff-cost", "100"}, ranks, job);
        if (unconnected_) GTEST_SKIP() << "PaddlePaddle's own groups did not connect in eight attempts";
        ASSERT_EQ(recorded.exit_code, 0) << recorded.err << logOf(0);
        const auto results = [&] { return logOf(0).substr(std::min(logOf(0).size(), logOf(0).rfind("weights "))); };
        const std::string with_checks = results();
        EXPECT_THAT(with_checks, HasSubstr(" loss "));
        for (const char* why : {"(Normal) is not checked in bubbles: it changes its running statistics as it runs",
                                "(Keeping) is not checked in bubbles: it changes its weight 'total' as it runs",
                                "(Noisy) is not checked in bubbles: it is not deterministic",
                                "(Counting) is not checked in bubbles: it changes its attribute 'calls' as it runs",
                                "(Talking) is not checked in bubbles: it communicates",
                                "(Again) is not checked in bubbles: it changes its weight gradients as it runs",
                                "layer 6 of stage 0 (Flipping), micro-batch",
                                "computing its output again gave different bits (transient)"})
            EXPECT_THAT(log(), HasSubstr(why)) << chunks;
        EXPECT_THAT(log(), Not(HasSubstr("have stopped")));
        const auto analysis = runProgram({"analyze", dir(), "--json", "--all"}).json();
        EXPECT_EQ(analysis["schedule"]["confidence"], 1);
        EXPECT_GT(analysis["aadiff"]["checks"]["replay"]["equal"].get<int>(), 0);
        EXPECT_GT(analysis["aadiff"]["checks"]["replay"]["mismatched"].get<int>(), 0);
        for (const auto& finding : analysis["anomalies"]) {
            if (finding["kind"] != "aadiff-mismatch") continue;
            EXPECT_EQ(finding["rank"], 0);
            const auto message = finding["message"].get<std::string>();
            EXPECT_THAT(message,
                        HasSubstr(message.find(", output") != std::string::npos ? "bit 20 flipped" : "bit 21 flipped"));
        }
        const ProgramResult unchecked = recordPaddle({}, ranks, job);
        if (unconnected_) GTEST_SKIP() << "PaddlePaddle's own groups did not connect in eight attempts";
        ASSERT_EQ(unchecked.exit_code, 0) << unchecked.err << logOf(0);
        EXPECT_EQ(results(), with_checks);
    }
}

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
