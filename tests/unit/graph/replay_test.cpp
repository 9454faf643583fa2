#include "core/cost/measured_times.h"
#include "tests/unit/graph/two_ranks.h"

#include <random>

namespace bubblescope::test {
namespace {

void expectEqual(const StepTimeline& a, const StepTimeline& b) {
    EXPECT_EQ(a.wall(), b.wall());
    ASSERT_EQ(a.ranks.size(), b.ranks.size());
    for (std::size_t r = 0; r < a.ranks.size(); ++r) {
        ASSERT_EQ(a.ranks[r].size(), b.ranks[r].size());
        for (std::size_t i = 0; i < a.ranks[r].size(); ++i) {
            EXPECT_EQ(a.ranks[r][i].op, b.ranks[r][i].op);
            EXPECT_EQ(a.ranks[r][i].start, b.ranks[r][i].start);
            EXPECT_EQ(a.ranks[r][i].end, b.ranks[r][i].end);
        }
        EXPECT_EQ(a.comm[r].size(), b.comm[r].size());
    }
}

/// A different time for every op, the same for both halves of a pair.
MeasuredTimes jittered(const Schedule& order, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> duration(50, 150);
    MeasuredTimes times;
    for (std::size_t r = 0; r < order.ranks.size(); ++r) {
        for (const Op& op : order.ranks[r])
            times.setOp(Rank{r}, op, TimeNs{duration(random)});
    }
    for (int m = 0; m < order.microbatches; ++m) {
        for (int s = 0; s < order.stages(); ++s) {
            times.setTransfer(Payload::Activation, Microbatch{m}, Stage{s}, 0, TimeNs{duration(random)});
            times.setTransfer(Payload::Gradient, Microbatch{m}, Stage{s}, 0, TimeNs{duration(random)});
        }
    }
    return times;
}

TEST(Replay, AStepWithJitterComesBackTheSame) {
    for (const char* name :
         {"1f1b", "fthenb", "interleaved", "zb-h1", "zb-v", "1f1b-overlap", "dualpipev", "chimera"}) {
        const int vpp = std::string(name) == "interleaved" || std::string(name) == "zb-v" ||
                                std::string(name) == "dualpipev" || std::string(name) == "chimera"
                            ? 2
                            : 1;
        const Schedule order = schedule(name, 4, 8, vpp);
        for (const SendMode mode : {SendMode::Asynchronous, SendMode::Batched}) {
            CostModel model = costs(10, 20, 3);
            model.transfers.sends = mode;
            model.measured = std::make_shared<MeasuredTimes>(jittered(order, 7));
            const auto measured = simulate(order, model);
            if (mode != SendMode::Asynchronous && !measured.ok()) continue; // some orders block
            ASSERT_TRUE(measured.ok()) << name << ": " << measured.error().text();

            CostModel replay; // everything is taken from the step
            replay.transfers.sends = mode;
            replay.measured = std::make_shared<MeasuredTimes>(MeasuredTimes::of(measured.value()));
            expectEqual(simulate(executedOrder(measured.value()), replay).value(), measured.value());
        }
    }
}

TEST(Replay, KnownTimesReplaceThoseOfTheModel) {
    CostModel model = costs(2, 3);
    auto known = std::make_shared<MeasuredTimes>();
    known->setOp(Rank{1}, {OpKind::Forward, Microbatch{0}, Chunk{0}}, TimeNs{7});
    known->setTransfer(Payload::Gradient, Microbatch{0}, Stage{0}, 0, TimeNs{4});
    model.measured = known;
    EXPECT_FALSE(model.equalStages());
    const StepTimeline step = simulate(schedule("fthenb", 2, 1), model).value();
    EXPECT_EQ(times(step, 1), (Times{{2, 9}, {9, 12}}));
    EXPECT_EQ(times(step, 0), (Times{{0, 2}, {16, 19}}));
}

TEST(Replay, APairTakesTheLongerOfItsHalves) {
    Schedule order;
    order.name = "custom";
    order.microbatches = 2;
    const auto op = [](OpKind kind, int m, bool overlapped) {
        return Op{kind, Microbatch{m}, Chunk{0}, 0, overlapped};
    };
    order.ranks = {{op(OpKind::Forward, 0, false), op(OpKind::Forward, 1, true), op(OpKind::Backward, 0, true),
                    op(OpKind::Backward, 1, false)}};
    CostModel model = costs(2, 3);
    EXPECT_EQ(times(simulate(order, model).value(), 0), (Times{{0, 2}, {2, 7}, {2, 7}, {7, 10}}));
    auto known = std::make_shared<MeasuredTimes>();
    known->setOp(Rank{0}, order.ranks[0][2], TimeNs{9});
    model.measured = known;
    EXPECT_EQ(times(simulate(order, model).value(), 0), (Times{{0, 2}, {2, 11}, {2, 11}, {11, 14}}));
}

} // namespace
} // namespace bubblescope::test
