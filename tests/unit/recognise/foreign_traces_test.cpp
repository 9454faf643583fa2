#include "core/recognise/run.h"
#include "tests/support/shared_data.h"
#include "tests/unit/formats/trace_bytes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace bubblescope {
namespace {

using test::countOf;
using testing::HasSubstr;

class ForeignTraces : public testing::Test {
protected:
    Result<bubblescope::Run> load() {
        JobControl control;
        return loadRun({folder_.path()}, control);
    }
    static std::string annotation(const std::string& name, int start, int end) {
        return fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"{}","pid":1,"tid":1,"ts":{},"dur":{}}},)",
                           name, start, end - start);
    }
    void writeKineto(int rank, const std::string& events) {
        folder_.write(fmt::format("r{}.json", rank),
                      fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"rank":{}}},"traceEvents":[{}]}})", rank,
                                  events.substr(0, events.size() - 1)));
    }
    /// Rank 0 holds stages 0 and 3, rank 1 stages 1 and 2; one micro-batch.
    void writeV() {
        writeKineto(0, annotation("PP:0F0", 0, 10) + annotation("PP:3F0", 30, 40) + annotation("PP:3I0", 40, 50) +
                           annotation("PP:3W0", 50, 60) + annotation("PP:0B0", 80, 100) +
                           annotation("PP:0REDUCE_GRAD", 100, 101));
        writeKineto(1, annotation("PP:1F0", 10, 20) + annotation("PP:2F0", 20, 30) + annotation("PP:2B0", 50, 70) +
                           annotation("PP:1B0", 70, 80));
    }

    test::ScratchFolder folder_;
};

TEST_F(ForeignTraces, MegatronStepsCarryTheirIteration) {
    folder_.write("megatron.json", test::readAll(test::dataDir() / "traces/megatron_pp2.json"));
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().format, "megatron");
    ASSERT_EQ(run.value().steps.size(), 1U);
    EXPECT_EQ(run.value().steps[0].index, 5);
    EXPECT_EQ(run.value().steps[0].wall(), TimeNs{92'000});
    EXPECT_EQ(run.value().schedule.name, "1f1b");
    EXPECT_TRUE(run.value().problems.empty());
}

// A process that names no replica is one by its number, which may be any.
TEST_F(ForeignTraces, ProcessesThatAreReplicasAreNumberedFromZero) {
    for (const auto& [first, second] : {std::pair<std::int64_t, std::int64_t>{-5, 7},
                                        {40'001, 40'002},
                                        {1, 5'000'000'002},
                                        {5'000'000'001, 5'000'000'002}}) {
        std::string events;
        for (const std::int64_t process : {first, second}) {
            for (int rank = 0; rank < 2; ++rank) {
                events += fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},)"
                                      R"("args":{{"name":"PP rank {} TP rank 0"}}}},)",
                                      process, rank + 1, rank);
                for (const auto& [name, start] :
                     {std::pair("forward-compute", 10 * rank), {"backward-compute", 40 - 10 * rank}}) {
                    events += fmt::format(R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{},"dur":10,)"
                                          R"("args":{{"mb_id":0,"step":3}}}},)",
                                          name, process, rank + 1, start);
                }
            }
        }
        folder_.write("job.json", "[" + events.substr(0, events.size() - 1) + "]");
        const auto run = load();
        ASSERT_TRUE(run.ok()) << run.error().text();
        ASSERT_EQ(run.value().steps.size(), 2U);
        EXPECT_EQ(run.value().steps[0].replica, 0) << first;
        EXPECT_EQ(run.value().steps[1].replica, 1) << first;
        EXPECT_TRUE(run.value().problems.empty());
    }
}

TEST_F(ForeignTraces, MegatronStepsThatMissOpsAreNotAnalysed) {
    std::string text = test::readAll(test::dataDir() / "traces/megatron_pp2.json");
    std::string next = text;
    for (std::size_t at = 0; (at = next.find("\"iteration\": 5", at)) != std::string::npos;)
        next.replace(at, 14, "\"iteration\": 6");
    folder_.write("a.json", text);
    folder_.write("b.json", next.substr(0, next.find("{\"name\": \"backward\", \"ph\": \"B\", \"ts\": 72")));
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_EQ(run.value().steps.size(), 1U);
    EXPECT_EQ(run.value().steps[0].index, 5);
    EXPECT_EQ(countOf(run.value().problems, "incomplete-step"), 1);
    EXPECT_EQ(countOf(run.value().problems, "truncated"), 1);

    std::filesystem::remove(folder_.path() / "a.json");
    const auto alone = load();
    ASSERT_FALSE(alone.ok());
    EXPECT_THAT(alone.error().message, HasSubstr("step 6: rank 0 is missing B1.0"));
}

TEST_F(ForeignTraces, TorchStagesTellRanksChunksAndPlacement) {
    writeV();
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_EQ(run.value().steps.size(), 1U);
    const StepTimeline& step = run.value().steps[0];
    EXPECT_EQ(step.placement, Placement::V);
    EXPECT_EQ(step.vpp, 2);
    EXPECT_EQ(opName(step.ranks[0][1].op), "F0.1");
    EXPECT_EQ(step.ranks[0][2].op.kind, OpKind::BackwardInput);
    EXPECT_EQ(run.value().schedule.name, "custom");
    // Rank 1's scope of 1B0 begins where 2B0 ends: nothing overlaps.
    EXPECT_EQ(countOf(run.value().problems, "overlapping-ops"), 0);
}

TEST_F(ForeignTraces, TorchWithoutProfilerStepsCountsRepeats) {
    std::string events;
    for (int i = 0; i < 3; ++i)
        events += annotation("PP:0F0", i * 100, i * 100 + 10) + annotation("PP:0B0", i * 100 + 10, i * 100 + 30);
    writeKineto(0, events);
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().steps.size(), 3U);
}

TEST_F(ForeignTraces, TorchWaitsAreCutOutOfOps) {
    writeKineto(0, annotation("PP:0F0", 0, 10) + annotation("PP:0SEND_F0", 10, 11) + annotation("PP:0RECV_B0", 11, 12) +
                       annotation("gloo:recv", 11, 55) + annotation("PP:0B0", 12, 75));
    writeKineto(1, annotation("PP:1RECV_F0", 0, 1) + annotation("gloo:recv", 0, 12) + annotation("PP:1F0", 1, 22) +
                       annotation("PP:1B0", 22, 45) + annotation("PP:1SEND_B0", 45, 46));
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    const StepTimeline& step = run.value().steps.at(0);
    EXPECT_EQ(step.ranks[1][0].start, TimeNs{12'000});
    EXPECT_EQ(step.ranks[0][1].start, TimeNs{55'000});
    ASSERT_EQ(step.comm[1].size(), 3U);
    const CommSpan& receive = step.comm[1][0];
    EXPECT_EQ(receive.kind, CommKind::Receive);
    EXPECT_EQ(receive.end, TimeNs{12'000});
    EXPECT_EQ(receive.peer, Rank{0});
    const CommSpan& send = step.comm[1][2];
    EXPECT_EQ(send.kind, CommKind::Send);
    EXPECT_EQ(send.payload, Payload::Gradient);
    EXPECT_EQ(send.stage, Stage{0});
    EXPECT_EQ(send.peer, Rank{0});
}

TEST_F(ForeignTraces, TorchOverlappedPairsAreTwoOps) {
    std::string events;
    for (int step = 0; step < 200; step += 100) {
        events += annotation("PP:0F0", step, step + 10) + annotation("PP:(0F1;0B0)OVERLAP_F_B", step + 10, step + 20) +
                  annotation("PP:0B1", step + 20, step + 30);
    }
    writeKineto(0, events);
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_EQ(run.value().steps.size(), 2U);
    const auto& ops = run.value().steps[1].ranks[0];
    ASSERT_EQ(ops.size(), 4U);
    EXPECT_TRUE(ops[1].op.overlapped && ops[2].op.overlapped);
    EXPECT_EQ(ops[1].start, ops[2].start);
    EXPECT_EQ(ops[1].end, ops[2].end);
    EXPECT_EQ(countOf(run.value().problems, "overlapping-ops"), 0);
}

// The host runs ahead: the scopes are short, the kernels that they launched show when the op ran.
TEST_F(ForeignTraces, GpuOpsTakeTheTimesOfTheirKernels) {
    const auto launch = [](int at, int id) {
        return fmt::format(
            R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":1,)"
            R"("args":{{"correlation":{}}}}},)",
            at, id);
    };
    const auto kernel = [](const char* name, int start, int end, int id) {
        return fmt::format(R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":7,"ts":{},"dur":{},)"
                           R"("args":{{"correlation":{}}}}},)",
                           name, start, end - start, id);
    };
    writeKineto(0, annotation("PP:0F0", 0, 10) + launch(2, 1) + launch(4, 2) + launch(6, 3) +
                       annotation("PP:0B0", 10, 20) + launch(12, 4) + launch(14, 5) + kernel("gemm", 50, 80, 1) +
                       kernel("gemm", 80, 90, 2) + kernel("ncclDevKernel_SendRecv", 90, 200, 3) +
                       kernel("graph", 210, 250, 4) + kernel("graph", 250, 300, 4)); // 5 left nothing on the device
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    const auto& ops = run.value().steps.at(0).ranks[0];
    EXPECT_EQ(ops[0].end - ops[0].start, TimeNs{40'000});
    EXPECT_EQ(ops[1].start - ops[0].start, TimeNs{160'000});
    EXPECT_EQ(ops[1].duration(), TimeNs{90'000});
    EXPECT_EQ(run.value().steps.at(0).detailsOf(ops[0]).device_idle, TimeNs{0});
}

// Stages that are threads of one process launch at the same time; what a backward's own thread launches is the op's.
TEST_F(ForeignTraces, GpuOpsTakeWhatTheirThreadsLaunch) {
    const auto range = [](const char* name, int thread, int start, int end) {
        return fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"{}","pid":1,"tid":{},"ts":{},"dur":{}}},)",
                           name, thread, start, end - start);
    };
    const auto launch = [](int thread, int at, int id) {
        return fmt::format(R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":{},"ts":{},)"
                           R"("dur":1,"args":{{"correlation":{}}}}},)",
                           thread, at, id);
    };
    const auto kernel = [](int start, int end, int id) {
        return fmt::format(R"({{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":{},"dur":{},)"
                           R"("args":{{"correlation":{}}}}},)",
                           start, end - start, id);
    };
    const std::string kernels = kernel(50, 80, 1) + kernel(80, 120, 2) + kernel(120, 150, 3) + kernel(150, 200, 4);
    writeKineto(0, range("PP:0F0", 1, 0, 10) + range("PP:1F0", 2, 1, 11) + range("PP:1B0", 2, 12, 20) +
                       range("PP:0B0", 1, 13, 24) + launch(1, 3, 1) + launch(2, 4, 2) + launch(2, 15, 3) +
                       launch(1, 16, 4) + kernels);
    const auto mixed = load();
    ASSERT_TRUE(mixed.ok()) << mixed.error().text();
    std::map<std::pair<OpKind, int>, TimeNs> lengths;
    for (const TimelineOp& op : mixed.value().steps.at(0).ranks[0])
        lengths[{op.op.kind, op.op.chunk.value}] = op.duration();
    EXPECT_EQ(lengths.at({OpKind::Forward, 0}), TimeNs{30'000});
    EXPECT_EQ(lengths.at({OpKind::Forward, 1}), TimeNs{40'000});
    EXPECT_EQ(lengths.at({OpKind::Backward, 1}), TimeNs{30'000});
    EXPECT_EQ(lengths.at({OpKind::Backward, 0}), TimeNs{50'000});

    writeKineto(0, range("PP:0F0", 1, 0, 10) + range("PP:0B0", 1, 10, 24) + launch(1, 3, 1) + launch(1, 4, 2) +
                       launch(3, 15, 3) + launch(3, 16, 4) + kernels); // thread 3 makes the backward
    const auto helped = load();
    ASSERT_TRUE(helped.ok()) << helped.error().text();
    EXPECT_EQ(helped.value().steps.at(0).ranks[0][1].duration(), TimeNs{80'000});
}

// Profilers may be configured to leave launches out. Kernels still state the operator that launched them.
TEST_F(ForeignTraces, GpuOpsAreTiedByTheirOperatorsWhereLaunchesAreMissing) {
    const auto operation = [](int at, int id) {
        return fmt::format(R"({{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":{},"dur":2,)"
                           R"("args":{{"External id":{}}}}},)",
                           at, id);
    };
    const auto kernel = [](int start, int end, int id, int external) {
        return fmt::format(R"({{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":{},"dur":{},)"
                           R"("args":{{"correlation":{},"External id":{}}}}},)",
                           start, end - start, id, external);
    };
    const auto launch = [](int at, int id) {
        return fmt::format(R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},)"
                           R"("dur":1,"args":{{"correlation":{}}}}},)",
                           at, id);
    };
    const std::string host = annotation("PP:0F0", 0, 10) + operation(2, 71) + operation(6, 72) +
                             annotation("PP:0B0", 10, 20) + operation(12, 73);
    const std::string device = kernel(50, 80, 1, 71) + kernel(80, 90, 2, 71) + kernel(92, 100, 3, 72) +
                               kernel(210, 250, 4, 73) + kernel(250, 300, 5, 73);
    // Without any, and with one that was recorded.
    for (const std::string& recorded : {std::string(), launch(3, 1)}) {
        writeKineto(0, host + recorded + device);
        const auto run = load();
        ASSERT_TRUE(run.ok()) << run.error().text();
        const auto& ops = run.value().steps.at(0).ranks[0];
        EXPECT_EQ(ops[0].duration(), TimeNs{50'000}) << recorded;
        EXPECT_EQ(run.value().steps.at(0).detailsOf(ops[0]).device_idle, TimeNs{2'000}) << recorded;
        EXPECT_EQ(ops[1].duration(), TimeNs{90'000}) << recorded;
    }
}

// Two streams side by side, a collective in the middle of an op, and stretches in which nothing had been launched.
TEST_F(ForeignTraces, GpuOpsSayHowLongTheDeviceWasIdle) {
    const auto launch = [](int at, int id) {
        return fmt::format(R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},)"
                           R"("dur":1,"args":{{"correlation":{}}}}},)",
                           at, id);
    };
    const auto kernel = [](const char* name, int stream, int start, int end, int id) {
        return fmt::format(R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":{},"ts":{},"dur":{},)"
                           R"("args":{{"correlation":{}}}}},)",
                           name, stream, start, end - start, id);
    };
    writeKineto(0, annotation("PP:0F0", 0, 10) + launch(1, 1) + launch(2, 2) + launch(3, 3) + launch(4, 4) +
                       launch(5, 5) + annotation("PP:0B0", 10, 20) + launch(12, 6) + kernel("gemm", 7, 50, 80, 1) +
                       kernel("copy", 8, 60, 85, 2) + kernel("ncclDevKernel_AllReduce", 9, 90, 100, 3) +
                       kernel("gemm", 7, 100, 120, 4) + kernel("gemm", 7, 140, 150, 5) +
                       kernel("gemm", 7, 160, 200, 6));
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    const auto& ops = run.value().steps.at(0).ranks[0];
    EXPECT_EQ(ops[0].duration(), TimeNs{100'000});
    EXPECT_EQ(run.value().steps.at(0).detailsOf(ops[0]).device_idle, TimeNs{5'000 + 20'000});
    EXPECT_EQ(run.value().steps.at(0).detailsOf(ops[1]).device_idle, TimeNs{0});
}

TEST_F(ForeignTraces, NvtxRangesNameOps) {
    std::string events;
    const auto range = [&events](const char* name, int start, int end) {
        events += fmt::format(R"({{"ph":"X","cat":"nvtx","name":"{}","pid":1,"tid":1,"ts":{},"dur":{}}},)", name, start,
                              end - start);
    };
    for (int step = 0; step < 300; step += 100) {
        range("F0", step, step + 10);
        range("F1", step + 10, step + 20);
        range("Flush", step + 20, step + 21);
        range("B0", step + 21, step + 30);
        range("W0", step + 30, step + 40);
        range("B1", step + 40, step + 50);
        range("W1", step + 50, step + 60);
        range("Optimizer", step + 60, step + 70);
    }
    writeKineto(0, events);
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().annotation, "NVTX");
    ASSERT_EQ(run.value().steps.size(), 3U);
    const auto& ops = run.value().steps[2].ranks[0];
    ASSERT_EQ(ops.size(), 7U);
    EXPECT_EQ(ops[2].op.kind, OpKind::BackwardInput) << "with W ranges, B is the gradient for the input";
    EXPECT_EQ(ops[3].op.kind, OpKind::BackwardWeight);
    EXPECT_EQ(ops[6].op.kind, OpKind::Optimizer);
}

TEST_F(ForeignTraces, PaddleJobLogs) {
    for (const int worker : {0, 1}) {
        std::string text = "grep me not\nI1020 standalone_executor.cc:217] Schedule Profiler start at step 15\n";
        const auto job = [&](const char* type, int microbatch, double start, double end) {
            text += fmt::format("I1020 09:15:07 1 standalone_executor.cc:217] Profiler Info: Job ({0}), type = {1}, "
                                "micro_batch_id = {0}, job_start_time = 16977933072{2:.6f}, job_end_time = "
                                "16977933072{3:.6f}\n",
                                microbatch, type, start, end);
        };
        for (const int step : {10, 50}) {
            job("forward", 0, step + 2 * worker, step + 2 * worker + 1.5);
            job("backward", 0, step + 8 - 3 * worker, step + 10.5 - 3 * worker);
            job("optimizer", 0, step + 12, step + 13);
        }
        text += "Profiler Info: Job (3), type = forward, micro_ba";
        folder_.write(fmt::format("log/workerlog.{}", worker), text);
    }
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().format, "paddle");
    ASSERT_EQ(run.value().steps.size(), 2U);
    EXPECT_EQ(run.value().steps[0].pp, 2);
    EXPECT_EQ(run.value().steps[0].ranks[1][0].start - run.value().steps[0].ranks[0][0].start, TimeNs{2'000'000});
    EXPECT_EQ(run.value().steps[0].ranks[0][0].duration(), TimeNs{1'500'000});
    EXPECT_EQ(countOf(run.value().problems, "bad-event"), 2);
}

TEST_F(ForeignTraces, PaddleDynamicGraphWritesMillisecondsOneEventALine) {
    std::string text;
    const auto event = [&](const char* name, int rank, std::int64_t start, std::int64_t end) {
        for (const auto& [phase, time] : {std::pair("B", start), std::pair("E", end)}) {
            text +=
                fmt::format(R"({{"name": "{}", "cat": "virtual pipeline timeline", "ph": "{}", "pid": 0, "tid": {}, )"
                            R"("ts": {}, "cname": "thread_state_running"}})"
                            "\n",
                            name, phase, rank + 1, 1'700'000'000'000 + time);
        }
    };
    for (const int rank : {0, 1}) {
        event("F0_VP0", rank, 10 * rank, 10 * rank + 10);
        event("F0_VP1", rank, 20 + 10 * rank, 30 + 10 * rank);
        event("B0_VP1", rank, 60 - 20 * rank, 80 - 20 * rank);
        event("B0_VP0", rank, 100 - 20 * rank, 120 - 20 * rank);
    }
    folder_.write("profile_record_tmp_file_for_rank_0", text);
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_EQ(run.value().steps.size(), 1U);
    EXPECT_EQ(run.value().steps[0].vpp, 2);
    EXPECT_EQ(run.value().steps[0].wall(), TimeNs{120'000'000});
    EXPECT_EQ(countOf(run.value().problems, "milliseconds"), 16);
}

TEST_F(ForeignTraces, PaddleProfilerKeepsTheExactStartInAnArg) {
    std::string events;
    const auto event = [&](const char* name, int start, const char* exact, double lasts) {
        events += fmt::format(R"json({{"name":"{}[{:.3f} us]","pid":1,"tid":"1(C++)","ts":{},"dur":{},"ph":"X",)json"
                              R"json("cat":"UserDefined","args":{{"start_time":"{} us"}}}},)json",
                              name, lasts, start, lasts, exact);
    };
    event("forward0-0", 100, "100.400", 10.2);
    event("backward0-0", 110, "110.700", 20.1);
    folder_.write("w.json", R"({"schemaVersion":"1.0.2","traceEvents":[)" + events + "{} ]}");
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    const auto& ops = run.value().steps.at(0).ranks[0];
    EXPECT_EQ(ops[1].start - ops[0].start, TimeNs{10'300});
    EXPECT_EQ(ops[0].duration(), TimeNs{10'200});
}

// Two ranks, three micro-batches, no annotations: rank 0 runs F F B F B B, rank 1 F B F B F B.
TEST_F(ForeignTraces, OrderOfComputeAndTransfersTellsOps) {
    std::string events;
    const auto add = [&](const char* name, int start, int end, int peer = -1) {
        const std::string args = peer < 0 ? "" : fmt::format(R"(,"args":{{"Concrete Inputs":["","","{}","0"]}})", peer);
        events += fmt::format(R"({{"ph":"X","cat":"cpu_op","name":"{}","pid":1,"tid":1,"ts":{},"dur":{}{}}},)", name,
                              start, end - start, args);
    };
    struct Timed {
        char kind;
        int start; ///< a forward lasts 40, a backward 60, a transfer 2
    };
    const std::vector<Timed> ranks[2] = {{{'F', 0}, {'F', 44}, {'B', 154}, {'F', 216}, {'B', 266}, {'B', 378}},
                                         {{'F', 44}, {'B', 90}, {'F', 156}, {'B', 202}, {'F', 266}, {'B', 312}}};
    for (const int rank : {0, 1}) {
        events.clear();
        for (const int index : {4, 5}) {
            const int begin = (index - 4) * 1000;
            for (const auto& [kind, start] : ranks[rank]) {
                const int at = begin + start;
                const bool forward = kind == 'F';
                const int end = at + (forward ? 40 : 60);
                if (forward == (rank == 1)) add("c10d::recv_", at - 3, at - 2, 1 - rank);
                if (!forward) add("aten::empty", at - 1, at); // too little for a forward
                if (forward) {
                    add("aten::linear", at, at + 30);
                    add("aten::gelu", at + 30, end);
                } else {
                    add("autograd::engine::evaluate_function: AddmmBackward0", at, end);
                }
                if (forward == (rank == 0)) add("c10d::send", end, end + 1, 1 - rank);
            }
            events += annotation(fmt::format("ProfilerStep#{}", index), begin, begin + 1000);
        }
        writeKineto(rank, events);
    }
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().schedule.name, "1f1b");
    EXPECT_EQ(run.value().schedule.microbatches, 3);
    ASSERT_EQ(run.value().steps.size(), 2U);
    EXPECT_EQ(run.value().steps[0].index, 4);
    EXPECT_EQ(run.value().steps[0].ranks[0][0].duration(), TimeNs{40'000});
    EXPECT_EQ(countOf(run.value().problems, "inferred"), 1);
    EXPECT_EQ(run.value().explanation.source, "inferred");
    EXPECT_GE(run.value().explanation.confidence, 0.8);
}

TEST_F(ForeignTraces, ReplicasAreToldApart) {
    for (int replica = 0; replica < 2; ++replica) {
        const int late = replica * 5;
        writeKineto(replica, annotation("PP:0F0", late, late + 10) + annotation("PP:0B0", late + 60, late + 80));
        writeKineto(replica + 2,
                    annotation("PP:1F0", late + 10, late + 20) + annotation("PP:1B0", late + 40, late + 60));
    }
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_EQ(run.value().steps.size(), 2U);
    EXPECT_EQ(run.value().steps[0].pp, 2);
    EXPECT_EQ(run.value().steps[0].replica, 0);
    EXPECT_EQ(run.value().steps[1].replica, 1);
    EXPECT_EQ(run.value().steps[1].begin, TimeNs{5'000});
}

TEST_F(ForeignTraces, OpsOfOneRankNeverOverlap) {
    writeKineto(0, annotation("PP:0F0", 0, 10) + annotation("PP:0B0", 8, 20));
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().steps[0].ranks[0][1].start, TimeNs{10'000});
    EXPECT_EQ(countOf(run.value().problems, "overlapping-ops"), 1);
}

TEST_F(ForeignTraces, MissingRanksAreErrors) {
    writeV();
    std::filesystem::remove(folder_.path() / "r1.json");
    EXPECT_THAT(load().error().message, HasSubstr("no rank ran stage 1"));

    writeV();
    writeKineto(2, annotation("PP:0F0", 0, 10) + annotation("PP:3F0", 30, 40));
    EXPECT_THAT(load().error().message, HasSubstr("2 ranks ran stage 0, but 1 ran stage 1"));
}

TEST_F(ForeignTraces, NumbersThatCannotBeAreErrors) {
    writeKineto(0, annotation("PP:0F0", 0, 10) + annotation("PP:0B2000000000", 10, 20));
    const auto run = load();
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(run.error().kind, ErrorKind::Input);
}

TEST_F(ForeignTraces, TracesWithoutOpsSayWhatWasFound) {
    writeKineto(0, annotation("step", 0, 10) + annotation("Forward pass", 10, 20));
    const auto run = load();
    ASSERT_FALSE(run.ok());
    EXPECT_THAT(run.error().message, HasSubstr("found 2 slices of the categories user_annotation 2"));
    EXPECT_THAT(run.error().message, HasSubstr("PP:{stage}F{microbatch}"));
}

} // namespace
} // namespace bubblescope
