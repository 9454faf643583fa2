#include "core/graph/validate.h"
#include "tests/unit/graph/two_ranks.h"

namespace bubblescope::test {
namespace {

CostModel blocking(CostModel model, SendMode mode, bool on_compute_stream = false) {
    model.transfers.sends = mode;
    model.transfers.on_compute_stream = on_compute_stream;
    return model;
}

std::vector<ScheduleProblem> problems(const Schedule& order, SendMode mode) {
    ValidateOptions options;
    options.sends = mode;
    return validate(order, options);
}

/// Forwards of rank 1 are longer, so that rank 0 runs ahead of it.
CostModel slowSecondStage(int comm = 0) {
    CostModel model = costs(1, 1, comm);
    model.stages = {makeOpTimes(TimeNs{1}, TimeNs{1}, {}, {}).value(),
                    makeOpTimes(TimeNs{4}, TimeNs{1}, {}, {}).value()};
    return model;
}

TEST(BlockingSends, WaitUntilTheReceiverHasPosted) {
    const Schedule order = schedule("fthenb", 2, 3);
    EXPECT_EQ(times(simulate(order, slowSecondStage()).value(), 0),
              (Times{{0, 1}, {1, 2}, {2, 3}, {14, 15}, {15, 16}, {16, 17}}));
    const StepTimeline step = simulate(order, blocking(slowSecondStage(), SendMode::Blocking)).value();
    // F1 is ready at 2 and received at 5, when rank 1 is through with F0; F2 is received at 9.
    EXPECT_EQ(times(step, 0), (Times{{0, 1}, {1, 2}, {5, 6}, {14, 15}, {15, 16}, {16, 17}}));
    EXPECT_EQ(times(step, 1), (Times{{1, 5}, {5, 9}, {9, 13}, {13, 14}, {14, 15}, {15, 16}}));
    EXPECT_EQ(transfers(step, 0, CommKind::Send), (Times{{1, 1}, {5, 5}, {9, 9}}));
    EXPECT_EQ(transfers(step, 0, CommKind::Wait), (Times{{2, 5}, {6, 9}, {9, 14}}));
}

TEST(BlockingSends, TransferOnceBothArePosted) {
    const Schedule order = schedule("fthenb", 2, 2);
    const StepTimeline step = simulate(order, blocking(slowSecondStage(2), SendMode::Blocking)).value();
    // F0: posted 1, there at 3. F1: sent at 2, received from 7 (end of F0), there at 9; rank 0 leaves at 7.
    EXPECT_EQ(times(step, 1), (Times{{3, 7}, {9, 13}, {13, 14}, {14, 15}}));
    EXPECT_EQ(transfers(step, 0, CommKind::Send), (Times{{1, 3}, {7, 9}}));
    EXPECT_EQ(times(step, 0), (Times{{0, 1}, {1, 2}, {16, 17}, {19, 20}})); // B1 is received from 17 on
    // On the compute stream rank 0 stays until 3 and 9.
    const StepTimeline held = simulate(order, blocking(slowSecondStage(2), SendMode::Blocking, true)).value();
    EXPECT_EQ(times(held, 0), (Times{{0, 1}, {3, 4}, {16, 17}, {19, 20}}));
    EXPECT_EQ(times(held, 1), (Times{{3, 7}, {9, 13}, {13, 14}, {16, 17}}));
}

TEST(BlockingSends, DeadlockOf1F1BIsShownSendBySend) {
    const Schedule order = schedule("1f1b", 2, 2);
    EXPECT_TRUE(validate(order).empty());
    const auto found = problems(order, SendMode::Blocking);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].kind, "deadlock");
    EXPECT_EQ(found[0].rank, Rank{0});
    EXPECT_EQ(found[0].index, 1U);
    EXPECT_EQ(found[0].message.text(),
              "deadlock of blocking sends: rank 0 sends the activation of F1.0 and waits for rank 1 to receive it, "
              "before F1.0; rank 1 sends the gradient of B0.0 and waits for rank 0 to receive it, before B0.0");
    const auto step = simulate(order, blocking(costs(1, 1), SendMode::Blocking));
    ASSERT_FALSE(step.ok());
    EXPECT_EQ(step.error().kind, ErrorKind::Input);
    EXPECT_NE(step.error().message.find("deadlock of blocking sends"), std::string::npos);
}

TEST(BlockingSends, BatchedPairsLetNeighboursSendToEachOther) {
    const Schedule order = schedule("1f1b", 2, 2);
    for (const SendMode mode : {SendMode::Paired, SendMode::Batched}) {
        EXPECT_TRUE(problems(order, mode).empty());
        const StepTimeline step = simulate(order, blocking(costs(1, 1), mode)).value();
        EXPECT_EQ(times(step, 0), (Times{{0, 1}, {1, 2}, {3, 4}, {5, 6}}));
        EXPECT_EQ(times(step, 1), (Times{{1, 2}, {2, 3}, {3, 4}, {4, 5}}));
    }
}

TEST(BlockingSends, AGroupTakesUntilAllOfItIsThrough) {
    // Steady 1F1B, transfers of 2: rank 0 posts the send of F1 and the receive of B0 together, at 2.
    const StepTimeline step = simulate(schedule("1f1b", 2, 2), blocking(costs(1, 1, 2), SendMode::Paired)).value();
    // F0 there at 3, rank 1 runs F0 and B0 until 5, posts gradient and receive: both move from 5 to 7.
    EXPECT_EQ(times(step, 1), (Times{{3, 4}, {4, 5}, {7, 8}, {8, 9}}));
    EXPECT_EQ(transfers(step, 0, CommKind::Send), (Times{{1, 3}, {5, 7}}));
    EXPECT_EQ(times(step, 0), (Times{{0, 1}, {1, 2}, {7, 8}, {11, 12}}));
}

TEST(BlockingSends, OneAtATimeARingOfSendersIsStuck) {
    // Three ranks, each of which sends the next an activation before it receives one: looped stages.
    const Schedule order = schedule("interleaved", 3, 6, 2);
    const auto found = problems(order, SendMode::Blocking);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].kind, "deadlock");
    EXPECT_TRUE(problems(order, SendMode::Batched).empty()) << problems(order, SendMode::Batched)[0].message.text();
}

TEST(BlockingSends, OtherProblemsComeFirst) {
    Schedule order = schedule("1f1b", 2, 2);
    std::swap(order.ranks[1][0], order.ranks[1][1]);
    const auto found = problems(order, SendMode::Blocking);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].message.text().rfind("deadlock: ", 0), 0U) << found[0].message.text();
    order.ranks[1].pop_back();
    EXPECT_EQ(problems(order, SendMode::Blocking)[0].kind, "missing");
}

TEST(BlockingSends, StreamsQueueWhatIsStillUnderWay) {
    CostModel model = blocking(costs(1, 1, 5), SendMode::Blocking);
    const Schedule order = schedule("fthenb", 2, 2);
    // F0 moves from 1 to 6, while rank 0 continues at 1; F1 is received from 7 on, when the stream is free again.
    EXPECT_EQ(transfers(simulate(order, model).value(), 0, CommKind::Send), (Times{{1, 6}, {7, 12}}));
    // Gradients: rank 1 leaves B0's send at once and has B1 ready before the first is through.
    EXPECT_EQ(transfers(simulate(order, model).value(), 1, CommKind::Send), (Times{{14, 19}, {20, 25}}));
    model.transfers.streams = CommStreams::PerLink;
    EXPECT_EQ(simulate(order, model).value().wall().count(), 26);
}

} // namespace
} // namespace bubblescope::test
