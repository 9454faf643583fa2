// The effects of planted faults on a run, with a fake clock.

#include "runtime/run.h"
#include "tests/unit/runtime/engine_run.h"
#include "tests/unit/runtime/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;
using profiler::SliceRecord;
using test::EngineRun;
using ::testing::HasSubstr;

std::vector<Fault> faults(const std::vector<std::string>& texts) {
    std::vector<Fault> all;
    for (const std::string& text : texts)
        all.push_back(parseFault(text).value());
    return all;
}

std::unique_ptr<const EngineRun> runWith(const std::vector<std::string>& texts) {
    auto run = std::make_unique<EngineRun>(test::scheduleOf("1f1b", 3, 4), test::someTimes(1ms));
    run->faults = faults(texts);
    run->steps = 3;
    EXPECT_TRUE(checkFaults(run->faults, run->schedule, run->steps).ok());
    const Result<EngineResult> result = run->run();
    EXPECT_TRUE(result.ok()) << result.error().text();
    return run;
}

using OpName = std::tuple<int, int, Op>; ///< rank, step, op

std::map<OpName, SliceRecord> opsOf(const EngineRun& run) {
    std::map<OpName, SliceRecord> ops;
    for (std::size_t r = 0; r < run.records.size(); ++r) {
        for (const SliceRecord& record : run.records[r]) {
            if (record.category == SliceRecord::Category::Op && record.kind != OpKind::Optimizer)
                ops.emplace(OpName{static_cast<int>(r), record.step, record.asOp().op}, record);
        }
    }
    return ops;
}

TimeNs usual(const Op& op) {
    return test::someTimes(0ms).times.of(op.kind);
}

TEST(PlantedFaults, ASlowRanksOpsTakeLongerFromAStepOn) {
    for (const auto& [name, record] : opsOf(*runWith({"slow:rank=1,factor=1.3,from=step1"}))) {
        const auto& [rank, step, op] = name;
        const TimeNs expected = rank == 1 && step >= 1 ? usual(op) * 13 / 10 : usual(op);
        EXPECT_EQ(record.end - record.start, expected) << rank << " " << opName(op) << " of step " << step;
    }
}

TEST(PlantedFaults, ASlowOpIsTheOnlyOne) {
    for (const auto& [name, record] : opsOf(*runWith({"op:B2,rank=1,step=2,add=5ms"}))) {
        const auto& [rank, step, op] = name;
        const bool struck = rank == 1 && step == 2 && op.kind == OpKind::Backward && op.microbatch == Microbatch{2};
        EXPECT_EQ(record.end - record.start, usual(op) + (struck ? 5ms : 0ms));
    }
}

TEST(PlantedFaults, JitterIsSeededAndAsWideAsAsked) {
    const auto first = opsOf(*runWith({"jitter:sigma=10%"}));
    const auto again = opsOf(*runWith({"jitter:sigma=10%"}));
    const auto other = opsOf(*runWith({"jitter:sigma=10%,seed=2"}));
    double sum = 0, squares = 0;
    int differ = 0;
    for (const auto& [name, record] : first) {
        const TimeNs took = record.end - record.start;
        EXPECT_EQ(took, again.at(name).end - again.at(name).start);
        differ += took != other.at(name).end - other.at(name).start ? 1 : 0;
        const double off =
            static_cast<double>(took.count()) / static_cast<double>(usual(std::get<2>(name)).count()) - 1;
        sum += off;
        squares += off * off;
    }
    const auto count = static_cast<double>(first.size());
    EXPECT_GT(differ, static_cast<int>(count) * 9 / 10);
    EXPECT_NEAR(sum / count, 0, 0.04) << "72 ops: 0.1 / sqrt(72) is the mean's deviation";
    EXPECT_NEAR(std::sqrt(squares / count), 0.1, 0.03);
}

TEST(PlantedFaults, ASlowLinkDelaysTransfersOfItsDirectionAlone) {
    const auto run = runWith({"link:0>1,latency=2ms"});
    int slow = 0;
    for (std::size_t r = 0; r < run->records.size(); ++r) {
        for (const SliceRecord& record : run->records[r]) {
            if (record.category != SliceRecord::Category::Receive) continue;
            const bool struck = r == 1 && record.peer() == Rank{0};
            EXPECT_EQ(record.end - record.start, struck ? 3ms : 1ms);
            slow += struck ? 1 : 0;
        }
    }
    EXPECT_EQ(slow, 3 * 4);
}

TEST(PlantedFaults, AStalledLinkHoldsBackWhatIsRightBehind) {
    const auto run = runWith({"stall:0>1,step=1,for=50ms"});
    std::map<int, std::vector<SliceRecord>> received;
    for (const SliceRecord& record : run->records[1]) {
        if (record.category == SliceRecord::Category::Receive && record.peer() == Rank{0})
            received[record.step].push_back(record);
    }
    EXPECT_EQ(received[0][0].end - received[0][0].start, 1ms);
    EXPECT_EQ(received[1][0].end - received[1][0].start, 51ms);
    EXPECT_EQ(received[1][1].end, received[1][0].end) << "sent 5 ms later, it arrives with the first";
    EXPECT_EQ(received[1][3].end - received[1][3].start, 1ms) << "the link has recovered";
    EXPECT_EQ(received[2][0].end - received[2][0].start, 1ms);
}

TEST(PlantedFaults, APauseIsIdleTimeNotALongOp) {
    const auto plain = opsOf(*runWith({}));
    const auto paused = opsOf(*runWith({"pause:rank=0,step=1,op=F1,for=30ms"}));
    const auto startIn = [](const auto& ops, int step, int microbatch) {
        const auto& first = ops.at({0, step, Op{OpKind::Forward, Microbatch{0}, Chunk{0}}});
        return ops.at({0, step, Op{OpKind::Forward, Microbatch{microbatch}, Chunk{0}}}).start - first.start;
    };
    EXPECT_EQ(startIn(paused, 1, 1) - startIn(plain, 1, 1), 30ms);
    EXPECT_EQ(startIn(paused, 0, 1), startIn(plain, 0, 1));
    EXPECT_EQ(startIn(paused, 2, 1), startIn(plain, 2, 1));
    for (const auto& [name, record] : paused)
        EXPECT_EQ(record.end - record.start, usual(std::get<2>(name)));
}

TEST(PlantedFaults, TakeTheHostsTimeWhereOpsDo) {
    EngineRun run(test::scheduleOf("1f1b", 1, 2), test::someTimes(0ms));
    run.paced = false;
    run.steps = 1;
    run.faults = faults({"op:F1,add=7ms", "pause:rank=0,op=B0,for=3ms"});
    ASSERT_TRUE(run.run().ok());
    const auto ops = opsOf(run);
    const auto op = [&](OpKind kind, int m) { return ops.at({0, 0, Op{kind, Microbatch{m}, Chunk{0}}}); };
    EXPECT_EQ(op(OpKind::Forward, 1).end - op(OpKind::Forward, 1).start, 7ms);
    EXPECT_EQ(op(OpKind::Backward, 0).start - op(OpKind::Forward, 0).end, 3ms);
    EXPECT_EQ(op(OpKind::Backward, 0).end - op(OpKind::Backward, 0).start, 0ms) << "the fake host's maths is instant";
}

TEST(PlantedFaults, DroppedRecordsAreGoneWithTheirTransfers) {
    const auto run = runWith({"drop:rank=1,op=F,step=1"});
    for (std::size_t r = 0; r < run->records.size(); ++r) {
        int forwards = 0, transfers = 0;
        for (const SliceRecord& record : run->records[r]) {
            if (record.step != 1) continue;
            const bool op = record.category == SliceRecord::Category::Op;
            forwards += op && record.kind == OpKind::Forward ? 1 : 0;
            transfers += !op && record.payload == Payload::Activation ? 1 : 0;
        }
        EXPECT_EQ(forwards, r == 1 ? 0 : 4);
        EXPECT_EQ(transfers == 0, r == 1);
    }
    const auto some = opsOf(*runWith({"drop:rank=1,share=50%"})).size();
    EXPECT_LT(some, 3U * 24);
    EXPECT_GT(some, 2U * 24);
}

RunConfig trainingWith(const std::vector<std::string>& texts) {
    RunConfig config;
    config.schedule = test::scheduleOf("1f1b", 3, 4);
    config.steps = 2;
    config.paced = false;
    config.faults = faults(texts);
    return config;
}

TEST(PlantedFaults, AFlippedBitChangesTheTrainingAndTheSameOneAlike) {
    const auto digest = [](const std::vector<std::string>& texts) {
        JobControl control;
        const Result<RunSummary> summary = runPipeline(trainingWith(texts), control);
        EXPECT_TRUE(summary.ok()) << summary.error().text();
        return summary.value().weights_digest;
    };
    const std::uint64_t clean = digest({});
    const std::uint64_t flipped = digest({"flip:B2,rank=1,step=1,tensor=out,bit=30"});
    EXPECT_NE(flipped, clean);
    EXPECT_EQ(digest({"flip:B2,rank=1,step=1,tensor=out,bit=30"}), flipped);
    EXPECT_EQ(digest({"flip:B2,rank=0,step=1,tensor=in,bit=30"}), flipped)
        << "what one hands on is what the next takes";
    EXPECT_EQ(digest({"flip:F0,rank=1,bit=5", "flip:F0,rank=1,bit=5"}), clean) << "back again";
}

TEST(PlantedFaults, ABitBeyondTheTensorEndsTheRunAndSaysHowManyThereAre) {
    JobControl control;
    const Result<RunSummary> summary = runPipeline(trainingWith({"flip:F0,rank=1,bit=1000000000"}), control);
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.error().kind, ErrorKind::Run);
    EXPECT_THAT(summary.error().message, HasSubstr("rank 1, F0.0 of step 0"));
    EXPECT_THAT(summary.error().message, HasSubstr("16384 bits")) << "16 tokens of 32 features";
}

TEST(PlantedFaults, ADeadRankEndsTheRunAndIsNamed) {
    JobControl control;
    const Result<RunSummary> summary = runPipeline(trainingWith({"die:rank=2,step=1,op=F1"}), control);
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.error().kind, ErrorKind::Run);
    EXPECT_THAT(summary.error().message, HasSubstr("rank 2, F1.0 of step 1"));
}

TEST(PlantedFaults, AHangingRankIsFoundByTheWatchdogAndNamed) {
    JobControl control;
    RunConfig config = trainingWith({"hang:rank=1,step=1,op=B0"});
    config.timeout = 2s; // others may well be kept from the processor for a while
    const Result<RunSummary> summary = runPipeline(config, control);
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.error().kind, ErrorKind::Run);
    EXPECT_THAT(summary.error().message, HasSubstr("rank 1 hangs"));
    EXPECT_THAT(summary.error().message, HasSubstr("B0.0 of step 1"));
}

TEST(PlantedFaults, AreRefusedWhereTheyNameWhatIsNotThere) {
    JobControl control;
    const Result<RunSummary> summary = runPipeline(trainingWith({"die:rank=5"}), control);
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.error().kind, ErrorKind::Usage);
}

} // namespace
} // namespace bubblescope::runtime
