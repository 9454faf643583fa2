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
    const TimelineOp op{{OpKind::Backward, Microbatch{3}, Chunk{1}}, TimeNs{5}, TimeNs{9}};
    const OpDetails details{TimeNs{2}, TimeNs{0}, TimeNs{0}};
    const SliceRecord op_record = SliceRecord::of(op, Stage{6}, 7, details);
    EXPECT_EQ(op_record.category, SliceRecord::Category::Op);
    EXPECT_EQ(op_record.stage, Stage{6});
    EXPECT_EQ(op_record.step, 7);
    EXPECT_EQ(op_record.asOp().op, op.op);
    EXPECT_EQ(op_record.asOp().end, op.end);
    EXPECT_EQ(op_record.opDetails(), details);

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

/// The content that a ring returns for a record.
SliceRecord throughARing(const SliceRecord& record) {
    RecordRing ring(1);
    ring.push(record);
    std::vector<SliceRecord> out;
    ring.drain(out);
    return out.at(0);
}

TEST(RecordRing, KeepsEveryFieldOfEveryCategory) {
    constexpr TimeNs kStart{-5};
    constexpr TimeNs kEnd{(std::int64_t{1} << 62) + 9};
    const TimelineOp op{{OpKind::BackwardWeight, Microbatch{3}, Chunk{-1}, 11, true}, kStart, kEnd};
    const OpDetails details{TimeNs{-2}, TimeNs{0}, TimeNs{77}};
    const SliceRecord op_record = throughARing(SliceRecord::of(op, Stage{6}, -7, details));
    EXPECT_EQ(op_record.category, SliceRecord::Category::Op);
    EXPECT_EQ(op_record.stage, Stage{6});
    EXPECT_EQ(op_record.step, -7);
    const TimelineOp op_back = op_record.asOp();
    EXPECT_EQ(op_back.op, op.op);
    EXPECT_EQ(op_back.op.overlapped, op.op.overlapped);
    EXPECT_EQ(op_back.start, op.start);
    EXPECT_EQ(op_back.end, op.end);
    EXPECT_EQ(op_record.opDetails(), details);

    const CommSpan span{CommKind::Collective, Payload::Gradient, Microbatch{2}, Stage{3}, Rank{-1}, kStart, kEnd, 5};
    const CommSpan span_back = throughARing(SliceRecord::of(span, 0)).asComm();
    EXPECT_EQ(span_back.kind, span.kind);
    EXPECT_EQ(span_back.payload, span.payload);
    EXPECT_EQ(span_back.microbatch, span.microbatch);
    EXPECT_EQ(span_back.stage, span.stage);
    EXPECT_EQ(span_back.peer, span.peer);
    EXPECT_EQ(span_back.start, span.start);
    EXPECT_EQ(span_back.end, span.end);
    EXPECT_EQ(span_back.sequence, span.sequence);

    CheckRecord check;
    check.kind = CheckKind::Elsewhere;
    check.outcome = CheckOutcome::Mismatch;
    check.verdict = Verdict::Device;
    check.step = 4;
    check.op = {OpKind::Backward, Microbatch{1}, Chunk{2}, 3};
    check.layer = 12;
    check.first = 0xFEDC'BA98'7654'3210;
    check.second = 0x8000'0000'0000'0001;
    check.start = kStart;
    check.end = kEnd;
    const SliceRecord check_record = throughARing(SliceRecord::of(check, CheckedTensor::Columns, Stage{9}));
    EXPECT_EQ(check_record.tensor, CheckedTensor::Columns);
    EXPECT_EQ(check_record.stage, Stage{9});
    const CheckRecord check_back = check_record.asCheck();
    EXPECT_EQ(check_back.kind, check.kind);
    EXPECT_EQ(check_back.outcome, check.outcome);
    EXPECT_EQ(check_back.verdict, check.verdict);
    EXPECT_EQ(check_back.step, check.step);
    EXPECT_EQ(check_back.op, check.op);
    EXPECT_EQ(check_back.layer, check.layer);
    EXPECT_EQ(check_back.first, check.first);
    EXPECT_EQ(check_back.second, check.second);
    EXPECT_EQ(check_back.start, check.start);
    EXPECT_EQ(check_back.end, check.end);

    DigestRecord digest;
    digest.step = 8;
    digest.op = check.op;
    digest.layer = 1;
    digest.digest = check.first;
    digest.time = kEnd;
    const DigestRecord digest_back = throughARing(SliceRecord::of(digest, CheckedTensor::Columns, Stage{9})).asDigest();
    EXPECT_EQ(digest_back.step, digest.step);
    EXPECT_EQ(digest_back.op, digest.op);
    EXPECT_EQ(digest_back.layer, digest.layer);
    EXPECT_EQ(digest_back.digest, digest.digest);
    EXPECT_EQ(digest_back.time, digest.time);
}

} // namespace
} // namespace bubblescope::profiler
