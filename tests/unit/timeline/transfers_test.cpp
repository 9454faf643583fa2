#include "core/timeline/transfers.h"

#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace bubblescope {
namespace {

StepTimeline simulated(const ScheduleSpec& spec, int comm = 2) {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{5}, TimeNs{10}, {}, {}).value();
    costs.comm = TimeNs{comm};
    return simulate(makeSchedule(spec).value(), costs).value();
}

OpPlace placeOf(const StepTimeline& step, int rank, OpKind kind, int microbatch, int chunk = 0) {
    const auto& ops = step.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].op.kind == kind && ops[i].op.microbatch.value == microbatch && ops[i].op.chunk.value == chunk)
            return {Rank(rank), i};
    }
    ADD_FAILURE() << "the step lacks the op";
    return {};
}

TEST(Transfers, ConnectNeighbouringStages) {
    const StepTimeline step = simulated({"1f1b", "", 4, 8, 1});
    const auto transfers = transfersBetweenRanks(step);
    ASSERT_EQ(transfers.size(), 48U) << "8 micro-batches cross 3 borders in both directions";
    for (const OpTransfer& transfer : transfers) {
        const TimelineOp& from = transfer.producer.in(step);
        const TimelineOp& to = transfer.consumer.in(step);
        EXPECT_EQ(from.op.microbatch, to.op.microbatch);
        const bool forward = transfer.payload == Payload::Activation;
        EXPECT_EQ(from.op.kind, forward ? OpKind::Forward : OpKind::Backward);
        EXPECT_EQ(transfer.consumer.rank.value - transfer.producer.rank.value, forward ? 1 : -1);
        EXPECT_TRUE(transfer.sent.recorded && transfer.received.recorded);
        EXPECT_EQ(transfer.sent.rank, transfer.producer.rank);
        EXPECT_EQ(transfer.received.rank, transfer.consumer.rank);
        EXPECT_GE(transfer.sent.time, from.end);
        EXPECT_EQ(transfer.received.time - transfer.sent.time, TimeNs{2});
    }
}

TEST(Transfers, WithoutRecordsGoFromOpToOp) {
    StepTimeline step = simulated({"1f1b", "", 2, 2, 1});
    for (auto& spans : step.comm)
        spans.clear();
    const auto transfers = transfersBetweenRanks(step, MicrobatchSlice{Microbatch{1}, 0});
    ASSERT_EQ(transfers.size(), 2U) << "of one micro-batch alone";
    for (const OpTransfer& transfer : transfers) {
        EXPECT_FALSE(transfer.sent.recorded || transfer.received.recorded);
        EXPECT_EQ(transfer.sent.time, transfer.producer.in(step).end);
        EXPECT_EQ(transfer.received.time, transfer.consumer.in(step).start);
    }
}

/// Ops and spans need not come in the order of their micro-batches, and of a repeated payload the first span counts.
TEST(Transfers, AreTheSameInAnyOrder) {
    const StepTimeline step = simulated({"interleaved", "", 4, 8, 2});
    using Ends = std::tuple<Payload, int, int, TimeNs, TimeNs>;
    const auto endsOf = [](const StepTimeline& of) {
        std::multiset<Ends> out;
        for (const OpTransfer& transfer : transfersBetweenRanks(of))
            out.insert({transfer.payload, transfer.producer.in(of).op.microbatch.value, transfer.consumer.rank.value,
                        transfer.sent.time, transfer.received.time});
        return out;
    };
    StepTimeline turned = step;
    for (auto& ops : turned.ranks)
        std::ranges::reverse(ops);
    for (auto& spans : turned.comm)
        std::ranges::reverse(spans);
    EXPECT_FALSE(endsOf(step).empty());
    EXPECT_EQ(endsOf(turned), endsOf(step));

    StepTimeline repeated = step;
    for (auto& spans : repeated.comm) {
        const std::vector<CommSpan> once = spans;
        for (CommSpan span : once) {
            span.start += TimeNs{1};
            span.end += TimeNs{1};
            spans.push_back(span);
        }
    }
    EXPECT_EQ(endsOf(repeated), endsOf(step));

    StepTimeline foreign = step; // to stages that the step does not have
    for (auto& spans : foreign.comm) {
        for (CommSpan& span : spans)
            span.stage = Stage(span.stage.value % 2 == 0 ? -1 : 1'000'000'000);
    }
    for (const OpTransfer& transfer : transfersBetweenRanks(foreign))
        EXPECT_FALSE(transfer.sent.recorded || transfer.received.recorded);
}

TEST(Transfers, StayInTheirPipelineWhereTwoShareTheRanks) {
    const StepTimeline step = simulated({"dualpipe", "", 4, 8, 2});
    const auto transfers = transfersBetweenRanks(step);
    EXPECT_FALSE(transfers.empty());
    for (const OpTransfer& transfer : transfers) {
        const auto stage = [&](const OpPlace& place) {
            return step.stageOf(place.rank, place.in(step).op.chunk).value;
        };
        EXPECT_EQ(std::abs(stage(transfer.producer) - stage(transfer.consumer)), 2);
    }
}

using TimesOfRank = std::tuple<int, TimeNs, TimeNs>;

std::vector<TimesOfRank> timedTransfersOf(const StepTimeline& step) {
    std::vector<TimesOfRank> out;
    eachTimedTransfer(step, [&](const TimedTransfer& transfer) {
        out.emplace_back(transfer.to.value, transfer.sent, transfer.received);
    });
    return out;
}

/// The transfers that eachTimedTransfer() must visit, in order of rank and time.
std::vector<TimesOfRank> recordedTransfersOf(const StepTimeline& step) {
    std::vector<TimesOfRank> out;
    for (const OpTransfer& transfer : transfersBetweenRanks(step)) {
        if (transfer.sent.recorded && transfer.received.recorded)
            out.emplace_back(transfer.received.rank.value, transfer.sent.time, transfer.received.time);
    }
    std::ranges::sort(out);
    return out;
}

TEST(TimedTransfers, AreThoseWhoseEndsAreRecorded) {
    for (const ScheduleSpec& spec : {ScheduleSpec{"1f1b", "", 4, 8, 1}, ScheduleSpec{"interleaved", "", 4, 8, 2},
                                     ScheduleSpec{"zb-v", "", 4, 8, 2}, ScheduleSpec{"dualpipe", "", 4, 8, 2},
                                     ScheduleSpec{"seq1f1b", "", 4, 8, 1}}) {
        SCOPED_TRACE(spec.name);
        const StepTimeline step = simulated(spec);
        std::vector<TimesOfRank> found = timedTransfersOf(step);
        EXPECT_TRUE(std::ranges::is_sorted(found, {}, [](const TimesOfRank& one) { return std::get<0>(one); }));
        std::ranges::sort(found);
        EXPECT_FALSE(found.empty());
        EXPECT_EQ(found, recordedTransfersOf(step));
    }
}

/// Steps from which records and ops are missing, and in which some are there twice, of another rank or out of order.
TEST(TimedTransfers, OfDamagedStepsAreTheSame) {
    std::mt19937 random(1);
    const auto oneOf = [&random](std::size_t count) { return random() % count; };
    for (int round = 0; round < 200; ++round) {
        SCOPED_TRACE(round);
        StepTimeline step = simulated({round % 2 == 0 ? "1f1b" : "interleaved", "", 4, 8, 1 + round % 2});
        for (int change = 0; change < 12; ++change) {
            auto& ops = step.ranks[oneOf(4)];
            auto& spans = step.comm[oneOf(4)];
            switch (oneOf(6)) {
            case 0: ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(oneOf(ops.size()))); break;
            case 1: spans.erase(spans.begin() + static_cast<std::ptrdiff_t>(oneOf(spans.size()))); break;
            case 2: {
                CommSpan again = spans[oneOf(spans.size())];
                again.start += TimeNs{1};
                again.end += TimeNs{1};
                step.comm[oneOf(4)].push_back(again);
                break;
            }
            case 3: step.ranks[oneOf(4)].push_back(ops[oneOf(ops.size())]); break;
            case 4: std::swap(spans[oneOf(spans.size())], spans[oneOf(spans.size())]); break;
            default: spans[oneOf(spans.size())].stage = Stage{static_cast<int>(oneOf(10)) - 1};
            }
        }
        std::vector<TimesOfRank> found = timedTransfersOf(step);
        std::ranges::sort(found);
        std::vector<TimesOfRank> wanted = recordedTransfersOf(step);
        // An op that occurs twice takes its payload twice.
        wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        EXPECT_EQ(found, wanted);
    }
}

/// A payload that is recorded again and again, as in damaged or hostile files: too often to examine all of them for
/// each one.
TEST(TimedTransfers, OfManyEqualRecordsAreTheFirst) {
    constexpr int kMany = 400'000;
    StepTimeline step = simulated({"1f1b", "", 2, 4, 1});
    const std::vector<TimesOfRank> once = timedTransfersOf(step);
    const auto repeat = [&](std::size_t rank, CommKind kind) {
        auto& spans = step.comm[rank];
        const CommSpan span = *std::ranges::find(spans, kind, &CommSpan::kind);
        ASSERT_EQ(span.payload, Payload::Activation);
        spans.insert(spans.end(), kMany, span);
    };
    repeat(0, CommKind::Send);
    repeat(1, CommKind::Receive);
    const TimelineOp forward = step.ranks[1].front();
    step.ranks[1].insert(step.ranks[1].end(), kMany, forward);
    EXPECT_EQ(timedTransfersOf(step), once);
}

TEST(OpLinks, FollowAMicrobatchThroughThePipelineAndBack) {
    const StepTimeline step = simulated({"interleaved", "", 4, 8, 2});
    std::optional<OpPlace> place = placeOf(step, 0, OpKind::Forward, 3);
    EXPECT_FALSE(producerOf(step, *place)) << "the first stage takes the data";
    std::set<std::pair<int, std::size_t>> seen;
    std::optional<OpPlace> last;
    while (place) {
        EXPECT_TRUE(seen.emplace(place->rank.value, place->index).second);
        EXPECT_EQ(place->in(step).op.microbatch, Microbatch{3});
        if (last) {
            EXPECT_EQ(producerOf(step, *place), last);
        }
        last = place;
        place = consumerOf(step, *place);
    }
    EXPECT_EQ(seen.size(), 16U) << "forward and backward of 8 stages";
    EXPECT_EQ(last->in(step).op.kind, OpKind::Backward);
    EXPECT_EQ(last->rank, Rank{0});
}

TEST(OpLinks, WeightGradientsFollowTheirInputGradients) {
    const StepTimeline step = simulated({"zb-h1", "", 4, 8, 1});
    const OpPlace input = placeOf(step, 2, OpKind::BackwardInput, 5);
    const OpPlace weight = placeOf(step, 2, OpKind::BackwardWeight, 5);
    EXPECT_EQ(producerOf(step, weight), input);
    EXPECT_FALSE(consumerOf(step, weight));
    EXPECT_EQ(consumerOf(step, input), placeOf(step, 1, OpKind::BackwardInput, 5));
}

TEST(OpLinks, OfASpanAreTheOpsThatItConnects) {
    const StepTimeline step = simulated({"1f1b", "", 4, 8, 1});
    for (const auto& spans : step.comm) {
        for (const CommSpan& span : spans) {
            const auto from = producerOf(step, span);
            const auto to = consumerOf(step, span);
            ASSERT_TRUE(from && to);
            EXPECT_EQ(consumerOf(step, *from), to);
            EXPECT_EQ(step.stageOf(to->rank, to->in(step).op.chunk), span.stage);
        }
    }
}

TEST(OpLinks, AHalfKnowsTheOther) {
    const StepTimeline step = simulated({"1f1b-overlap", "", 4, 8, 1});
    int halves = 0;
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
        for (std::size_t i = 0; i < step.ranks[rank].size(); ++i) {
            const auto other = otherHalfOf(step, {Rank(rank), i});
            EXPECT_EQ(other.has_value(), step.ranks[rank][i].op.overlapped);
            if (!other) continue;
            ++halves;
            EXPECT_EQ(otherHalfOf(step, *other), (OpPlace{Rank(rank), i}));
        }
    }
    EXPECT_GT(halves, 0);
}

} // namespace
} // namespace bubblescope
