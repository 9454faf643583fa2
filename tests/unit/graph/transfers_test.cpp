#include "tests/unit/graph/two_ranks.h"

#include <limits>

namespace bubblescope::test {
namespace {

TEST(Transfers, TakeLatencyPlusBytesOverBandwidth) {
    CostModel model = costs(3000, 5000, 500);
    model.transfers.activation_bytes = 4000;
    model.transfers.gradient_bytes = 2000;
    model.transfers.bytes_per_second = 1'000'000'000;
    const StepTimeline step = simulate(schedule("fthenb", 2, 1), model).value();
    EXPECT_EQ(times(step, 1), (Times{{7500, 10500}, {10500, 15500}}));
    EXPECT_EQ(times(step, 0), (Times{{0, 3000}, {18000, 23000}}));
    EXPECT_EQ(transfers(step, 0, CommKind::Send), (Times{{3000, 7500}}));
    EXPECT_EQ(transfers(step, 1, CommKind::Receive), (Times{{3000, 7500}}));
    EXPECT_EQ(transfers(step, 0, CommKind::Receive), (Times{{15500, 18000}}));
    EXPECT_EQ(transfers(step, 0, CommKind::Wait), (Times{{3000, 18000}}));
}

TEST(Transfers, BytesAreRoundedUpAndNeverOverflow) {
    EXPECT_EQ(transmissionTime(1, 3).count(), 333'333'334);
    EXPECT_EQ(transmissionTime(0, 3).count(), 0);
    EXPECT_EQ(transmissionTime(7, 7).count(), 1'000'000'000);
    EXPECT_EQ(transmissionTime(1'000'000'000'001, 1'000'000'000'000).count(), 1'000'000'001);
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(transmissionTime(kMost, kMost).count(), 1'000'000'000);
    EXPECT_GT(transmissionTime(kMost, 1).count(), kMost / 5);
}

TEST(Transfers, LinksHaveTheirOwnLatencyAndBandwidth) {
    CostModel model = costs(10, 10, 1);
    model.transfers.activation_bytes = 1000;
    model.transfers.links = {{Rank{0}, Rank{1}, TimeNs{5}, {}}, {Rank{1}, Rank{0}, {}, 100'000'000'000}};
    model.transfers.gradient_bytes = 200;
    EXPECT_EQ(model.transferTime(Payload::Activation, Rank{0}, Rank{1}).count(), 5);
    EXPECT_EQ(model.transferTime(Payload::Gradient, Rank{1}, Rank{0}).count(), 1 + 2);
    EXPECT_EQ(model.transferTime(Payload::Activation, Rank{1}, Rank{2}).count(), 1);
    const StepTimeline step = simulate(schedule("fthenb", 3, 1), model).value();
    EXPECT_EQ(times(step, 1), (Times{{15, 25}, {47, 57}}));
    EXPECT_EQ(times(step, 2), (Times{{26, 36}, {36, 46}}));
    EXPECT_EQ(times(step, 0), (Times{{0, 10}, {60, 70}}));
}

TEST(Transfers, QueueOnAStreamPerDirection) {
    CostModel model = costs(1, 1, 3);
    const Schedule order = schedule("fthenb", 2, 2);
    EXPECT_EQ(simulate(order, model).value().wall().count(), 12);
    model.transfers.streams = CommStreams::PerDirection;
    const StepTimeline step = simulate(order, model).value();
    EXPECT_EQ(transfers(step, 0, CommKind::Send), (Times{{1, 4}, {4, 7}}));
    EXPECT_EQ(times(step, 1), (Times{{4, 5}, {7, 8}, {8, 9}, {9, 10}}));
    EXPECT_EQ(transfers(step, 1, CommKind::Send), (Times{{9, 12}, {12, 15}}));
    EXPECT_EQ(times(step, 0), (Times{{0, 1}, {1, 2}, {12, 13}, {15, 16}}));
}

TEST(Transfers, StreamsDifferInWhatSharesThem) {
    // Rank 1 of three: its activations go to rank 2, its gradients to rank 0.
    Schedule order;
    order.name = "custom";
    order.pp = 3;
    order.microbatches = 2;
    const auto f = [](int m) { return Op{OpKind::Forward, Microbatch{m}, Chunk{0}}; };
    const auto b = [](int m) { return Op{OpKind::Backward, Microbatch{m}, Chunk{0}}; };
    order.ranks = {{f(0), f(1), b(0), b(1)}, {f(0), b(0), f(1), b(1)}, {f(0), b(0), f(1), b(1)}};
    CostModel model = costs(1, 1, 10);
    const auto sends = [&](CommStreams streams) {
        model.transfers.streams = streams;
        return transfers(simulate(order, model).value(), 1, CommKind::Send);
    };
    const Times free{{12, 22}, {35, 45}, {36, 46}, {59, 69}};
    EXPECT_EQ(sends(CommStreams::Unlimited), free);
    EXPECT_EQ(sends(CommStreams::PerDirection), free);
    EXPECT_EQ(sends(CommStreams::PerLink), free);
    EXPECT_EQ(sends(CommStreams::PerRank), (Times{{12, 22}, {35, 45}, {45, 55}, {68, 78}}));
}

TEST(Transfers, OnALoopOfTwoRanksBothDirectionsShareTheLink) {
    // Stages 0 and 2 on rank 0, 1 and 3 on rank 1: everything rank 0 sends goes to rank 1.
    const Schedule order = schedule("looped-bfs", 2, 2, 2);
    CostModel model = costs(1, 1, 4);
    const auto wall = [&](CommStreams streams) {
        model.transfers.streams = streams;
        return simulate(order, model).value().wall();
    };
    EXPECT_EQ(wall(CommStreams::PerLink), wall(CommStreams::PerRank));
    EXPECT_GT(wall(CommStreams::PerLink), wall(CommStreams::Unlimited));
}

TEST(Transfers, OnTheComputeStreamHoldTheSenderUp) {
    CostModel model = costs(1, 1, 3);
    model.transfers.on_compute_stream = true;
    const StepTimeline step = simulate(schedule("fthenb", 2, 2), model).value();
    EXPECT_EQ(times(step, 0), (Times{{0, 1}, {4, 5}, {13, 14}, {17, 18}}));
    EXPECT_EQ(times(step, 1), (Times{{4, 5}, {8, 9}, {9, 10}, {13, 14}}));
}

TEST(Transfers, PlainOnlyWhenTheyCostNoMoreThanTheLatency) {
    CostModel model = costs(1, 1, 3);
    EXPECT_TRUE(model.plainTransfers());
    model.transfers.activation_bytes = 100;
    EXPECT_TRUE(model.plainTransfers()) << "bytes without a bandwidth take no time";
    model.transfers.bytes_per_second = 1000;
    EXPECT_FALSE(model.plainTransfers());
    model.transfers = {};
    model.transfers.sends = SendMode::Batched;
    EXPECT_FALSE(model.plainTransfers());
    model.transfers = {};
    model.transfers.streams = CommStreams::PerLink;
    EXPECT_FALSE(model.plainTransfers());
    model.transfers = {};
    model.transfers.on_compute_stream = true;
    EXPECT_FALSE(model.plainTransfers());
    model.transfers = {};
    model.transfers.links = {{Rank{0}, Rank{1}, TimeNs{4}, {}}};
    EXPECT_FALSE(model.plainTransfers());
}

TEST(Transfers, TimesThatDoNotAddUpAreRefused) {
    constexpr TimeNs kForever{std::numeric_limits<std::int64_t>::max()};
    CostModel model = costs(1, 1);
    model.comm = kForever;
    const auto comm = simulate(schedule("1f1b", 2, 4), model);
    ASSERT_FALSE(comm.ok());
    EXPECT_EQ(comm.error().kind, ErrorKind::Usage);
    model.comm = TimeNs{0};
    model.times.forward = kForever / 4;
    EXPECT_FALSE(simulate(schedule("1f1b", 2, 4), model).ok());
}

} // namespace
} // namespace bubblescope::test
