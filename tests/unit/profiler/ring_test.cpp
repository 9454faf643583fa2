#include "profiler/recorder/ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace bubblescope::profiler {
namespace {

SliceRecord numbered(int number) {
    SliceRecord record;
    record.start = TimeNs{number};
    return record;
}

TEST(RecordRing, GivesBackInOrderAcrossItsEnd) {
    RecordRing ring(4);
    std::vector<SliceRecord> out;
    for (int i = 0; i < 10; ++i) {
        ring.push(numbered(2 * i));
        ring.push(numbered(2 * i + 1));
        ring.drain(out);
    }
    ASSERT_EQ(out.size(), 20U);
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(out[static_cast<std::size_t>(i)].start.count(), i);
    EXPECT_EQ(ring.dropped(), 0);
}

TEST(RecordRing, RoundsItsCapacityUp) {
    EXPECT_EQ(RecordRing(5).capacity(), 8U);
}

TEST(RecordRing, DropsAndCountsTheOldestOfWhatDoesNotFit) {
    RecordRing ring(4);
    for (int i = 0; i < 7; ++i)
        ring.push(numbered(i));
    EXPECT_EQ(ring.dropped(), 3);
    EXPECT_EQ(ring.waiting(), 7U);

    std::vector<SliceRecord> out;
    ring.drain(out);
    ASSERT_EQ(out.size(), 4U);
    EXPECT_EQ(out.front().start.count(), 3) << "the latest stay";
    EXPECT_EQ(out.back().start.count(), 6);
    ring.push(numbered(9));
    EXPECT_EQ(ring.dropped(), 3);
    EXPECT_EQ(ring.waiting(), 1U);
}

TEST(RecordRing, LosesNothingUncountedBetweenTwoThreads) {
    constexpr int kRecords = 50'000;
    RecordRing ring(64);
    std::atomic<bool> done{false};
    std::thread producer([&] {
        for (int i = 0; i < kRecords; ++i)
            ring.push(numbered(i));
        done = true;
    });
    std::vector<SliceRecord> out;
    while (!done)
        ring.drain(out);
    producer.join();
    ring.drain(out);
    EXPECT_EQ(static_cast<std::int64_t>(out.size()) + ring.dropped(), kRecords);
    for (std::size_t i = 1; i < out.size(); ++i)
        ASSERT_LT(out[i - 1].start, out[i].start);
}

TEST(SliceRecord, CarriesOpsAndTransfersUnchanged) {
    const TimelineOp op{{OpKind::Backward, Microbatch{3}, Chunk{1}}, TimeNs{5}, TimeNs{9}, TimeNs{2}};
    const SliceRecord op_record = SliceRecord::of(op, Stage{6}, 7);
    EXPECT_EQ(op_record.category, SliceRecord::Category::Op);
    EXPECT_EQ(op_record.stage, Stage{6});
    EXPECT_EQ(op_record.step, 7);
    EXPECT_EQ(op_record.asOp().op, op.op);
    EXPECT_EQ(op_record.asOp().end, op.end);
    EXPECT_EQ(op_record.asOp().lateness, op.lateness);

    for (const CommKind kind : {CommKind::Send, CommKind::Receive, CommKind::Wait}) {
        const CommSpan span{kind, Payload::Gradient, Microbatch{2}, Stage{3}, Rank{1}, TimeNs{4}, TimeNs{8}};
        const CommSpan back = SliceRecord::of(span, 0).asComm();
        EXPECT_EQ(back.kind, kind);
        EXPECT_EQ(back.payload, span.payload);
        EXPECT_EQ(back.microbatch, span.microbatch);
        EXPECT_EQ(back.stage, span.stage);
        EXPECT_EQ(back.peer, span.peer);
        EXPECT_EQ(back.start, span.start);
        EXPECT_EQ(back.end, span.end);
    }
}

} // namespace
} // namespace bubblescope::profiler
