#include "core/analysis/steps/run_analyzer.h"
#include "core/recognise/run.h"
#include "tests/unit/analysis/simulated_run.h"
#include "tests/unit/formats/trace_bytes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

constexpr TimeNs kWait = 2 * kForward;

StepTimeline plainStep() {
    CostModel costs;
    costs.times = makeOpTimes(kForward, 2 * kForward, {}, {}).value();
    costs.comm = kForward / 10;
    return simulate(makeSchedule({"1f1b", "", 3, 4, 1}).value(), costs).value();
}

/// Rank 1 of three has posted the receive of a late gradient from rank 2 before it sends a gradient to rank 0.
StepTimeline stepWithWait() {
    StepTimeline step = plainStep();
    const auto send = std::ranges::find_if(step.comm[1], [](const CommSpan& span) {
        return span.kind == CommKind::Send && span.peer == Rank{0} && span.microbatch == Microbatch{1};
    });
    const TimeNs ready = send->start;
    std::erase_if(step.comm[1], [&](const CommSpan& span) {
        return span.kind == CommKind::Receive && span.payload == Payload::Gradient && span.microbatch == Microbatch{3};
    });
    for (auto& spans : step.comm) {
        for (CommSpan& span : spans) {
            const bool same =
                span.payload == Payload::Gradient && span.microbatch == Microbatch{1} && span.stage == Stage{0};
            if (!same) continue;
            if (span.kind == CommKind::Send) span.start += kWait;
            span.end += kWait;
        }
    }
    step.comm[1].push_back(
        {CommKind::Receive, Payload::Gradient, Microbatch{3}, Stage{1}, Rank{2}, ready - kForward, ready + kWait});
    std::ranges::stable_sort(step.comm[1], {}, &CommSpan::start);
    return step;
}

std::vector<Anomaly> blockedIn(const StepTimeline& step) {
    bubblescope::Run run;
    run.schedule = makeSchedule({"1f1b", "", 3, 4, 1}).value();
    run.steps = {step};
    return ofKind(analyzeRun(run), AnomalyKind::BlockingReceive);
}

TEST(QueuedSends, SendBehindReceiveIsFound) {
    EXPECT_TRUE(blockedIn(plainStep()).empty());
    const auto queued = blockedIn(stepWithWait());
    ASSERT_EQ(queued.size(), 1U);
    EXPECT_EQ(queued[0].rank, Rank{1});
    EXPECT_EQ(queued[0].peer, Rank{0});
    EXPECT_EQ(queued[0].evidence[0].second, static_cast<double>(kWait.count()));
    EXPECT_THAT(queued[0].message.text(), HasSubstr("The send 1→0 waited"));
    EXPECT_THAT(queued[0].message.text(), HasSubstr("behind the receive 2→1"));
    EXPECT_THAT(queued[0].message.text(), HasSubstr("does not name their communicators"));
}

/// Where a profile of PyTorch states the process group of a transfer.
enum class Stated { OnKernel, OnCall, Nowhere };

/// Writes a step as PyTorch's profiler records it on GPUs with NCCL. Each transfer is a kernel on a stream of its
/// communicator, launched in the range of its action.
class KinetoFiles {
public:
    KinetoFiles(Stated stated, bool one_communicator) : stated_(stated), one_(one_communicator) {}

    bubblescope::Run load(const StepTimeline& step) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r)
            write(step, Rank{r});
        JobControl control;
        Result<bubblescope::Run> run = loadRun({folder_.path()}, control);
        EXPECT_TRUE(run.ok()) << run.error().text();
        return run.ok() ? std::move(run).value() : bubblescope::Run{};
    }

private:
    struct Piece {
        TimeNs start{0};
        TimeNs end{0};
        std::string range;
        std::string call; ///< "send" or "recv"; empty for an op
        int stream = 7;
    };

    static std::string micros(TimeNs time) { return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000); }

    void slice(const char* category, const std::string& name, int pid, int tid, TimeNs start, TimeNs lasts,
               const std::string& args) {
        if (!events_.empty()) events_ += ",\n";
        events_ +=
            fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                        category, name, pid, tid, micros(start), micros(lasts), args);
    }

    [[nodiscard]] Piece pieceOf(const CommSpan& span) const {
        const bool send = span.kind == CommKind::Send;
        const bool forward = span.payload == Payload::Activation;
        const int back = !send ? 0 : forward ? 1 : -1; // the range names the rank's own stage
        return {span.start, span.end,
                fmt::format("PP:{}{}_{}{}", span.stage.value - back, send ? "SEND" : "RECV", forward ? 'F' : 'B',
                            span.microbatch.value),
                send ? "send" : "recv", one_ ? 20 : 20 + span.peer.value};
    }

    void write(const StepTimeline& step, Rank rank) {
        std::vector<Piece> pieces;
        for (const TimelineOp& op : step.ranks[rank.index()]) {
            const char kind = op.op.kind == OpKind::Forward ? 'F' : 'B';
            pieces.push_back(
                {op.start, op.end, fmt::format("PP:{}{}{}", rank.value, kind, op.op.microbatch.value), "", 7});
        }
        for (const CommSpan& span : step.comm[rank.index()]) {
            if (span.kind == CommKind::Send || span.kind == CommKind::Receive) pieces.push_back(pieceOf(span));
        }
        std::ranges::stable_sort(pieces, {}, &Piece::start);
        events_.clear();
        constexpr TimeNs kAhead{10'000'000}; // the host launches everything before the devices begin
        TimeNs host{0};
        int correlation = 0;
        const std::string group = R"(,"Process Group Name":"5","Process Group Description":"pipeline")";
        for (const Piece& piece : pieces) {
            const int host_pid = 100 + rank.value;
            const std::string collective = fmt::format(R"(,"Collective name":"{}")", piece.call);
            slice("user_annotation", piece.range, host_pid, 1, host, TimeNs{8000}, R"("a":1)");
            if (!piece.call.empty() && stated_ == Stated::OnCall)
                slice("cpu_op", "record_param_comms", host_pid, 1, host + TimeNs{1000}, TimeNs{500},
                      R"("a":1)" + collective + group);
            const std::string id = fmt::format(R"("correlation":{})", ++correlation);
            slice("cuda_runtime", "cudaLaunchKernel", host_pid, 1, host + TimeNs{3000}, TimeNs{1000}, id);
            const bool states = !piece.call.empty() && stated_ == Stated::OnKernel;
            slice("kernel", piece.call.empty() ? "gemm" : "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 0,
                  piece.stream, kAhead + piece.start, piece.end - piece.start,
                  id + fmt::format(R"(,"stream":{})", piece.stream) + (states ? collective + group : std::string()));
            host += TimeNs{10'000};
        }
        folder_.write(fmt::format("rank{}.json", rank.value),
                      fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"backend":"nccl","rank":{}}},)"
                                  R"("traceEvents":[{}]}})",
                                  rank.value, events_));
    }

    Stated stated_;
    bool one_;
    std::string events_;
    ScratchFolder folder_;
};

TEST(QueuedSends, KinetoNamesTheCommunicatorOfAWait) {
    for (const Stated stated : {Stated::OnKernel, Stated::OnCall}) {
        const bubblescope::Run run = KinetoFiles(stated, true).load(stepWithWait());
        ASSERT_EQ(run.steps.size(), 1U);
        for (const auto& spans : run.steps[0].comm) {
            for (const CommSpan& span : spans)
                EXPECT_EQ(run.communicatorOf(span), "pipeline 5, stream 20");
        }
        const auto queued = ofKind(analyzeRun(run), AnomalyKind::BlockingReceive);
        ASSERT_EQ(queued.size(), 1U);
        EXPECT_EQ(queued[0].evidence[0].second, static_cast<double>(kWait.count()));
        EXPECT_THAT(queued[0].message.text(), HasSubstr("The send 1→0 waited 2.00 ms behind the receive 2→1"));
        EXPECT_THAT(queued[0].message.text(), HasSubstr("Both are in the communicator 'pipeline 5, stream 20'."));
    }
}

TEST(QueuedSends, NoWaitIsReportedInOneCommunicatorWithoutOne) {
    const bubblescope::Run run = KinetoFiles(Stated::OnKernel, true).load(plainStep());
    ASSERT_EQ(run.steps.size(), 1U);
    EXPECT_EQ(run.communicators, std::vector<std::string>{"pipeline 5, stream 20"});
    EXPECT_TRUE(ofKind(analyzeRun(run), AnomalyKind::BlockingReceive).empty());
}

TEST(QueuedSends, TransfersInDifferentCommunicatorsDoNotBlockEachOther) {
    const bubblescope::Run run = KinetoFiles(Stated::OnKernel, false).load(stepWithWait());
    ASSERT_EQ(run.steps.size(), 1U);
    EXPECT_EQ(run.communicators.size(), 3U);
    EXPECT_TRUE(ofKind(analyzeRun(run), AnomalyKind::BlockingReceive).empty());
}

TEST(QueuedSends, WithoutProcessGroupsTheCauseIsUncertain) {
    const bubblescope::Run run = KinetoFiles(Stated::Nowhere, true).load(stepWithWait());
    ASSERT_EQ(run.steps.size(), 1U);
    EXPECT_TRUE(run.communicators.empty());
    const auto queued = ofKind(analyzeRun(run), AnomalyKind::BlockingReceive);
    ASSERT_EQ(queued.size(), 1U);
    EXPECT_THAT(queued[0].message.text(), HasSubstr("does not name their communicators"));
}

} // namespace
} // namespace bubblescope::test
