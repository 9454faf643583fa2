// When findings of a running job are reported, and when they end.

#include "core/analysis/steps/findings_log.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

constexpr TimeNs kStep{100'000};

/// A finding of rank `rank` that was seen in `steps` of the last 20 steps, the newest of them `last`.
Anomaly finding(AnomalyKind kind, int rank, TimeNs cost, int steps, int last) {
    Anomaly anomaly;
    anomaly.kind = kind;
    anomaly.severity = Severity::Warning;
    anomaly.rank = Rank{rank};
    anomaly.cost = cost;
    anomaly.seen.steps = steps;
    anomaly.seen.of_steps = 20;
    anomaly.seen.last = last;
    anomaly.seen.total = cost * steps;
    return anomaly;
}

class Log : public testing::Test {
protected:
    void look(std::vector<Anomaly> found, int steps = 1) {
        step_ += steps;
        const auto changes = log_.update(std::move(found), {step_, steps, 0, kStep});
        opened_ += static_cast<int>(changes.opened.size());
        resolved_ += static_cast<int>(changes.resolved.size());
    }
    /// A lasting one, which all steps have.
    [[nodiscard]] Anomaly lasting(TimeNs cost) const { return finding(AnomalyKind::Straggler, 2, cost, 20, step_ + 1); }

    FindingsLog log_{FindingsLog::Limits{}};
    int step_ = 20;
    int opened_ = 0;
    int resolved_ = 0;
};

TEST_F(Log, WhatCostsMuchIsToldAtOnceAndOnce) {
    for (int i = 0; i < 30; ++i) {
        look({lasting(kStep / 10)});
        EXPECT_EQ(opened_, 1);
    }
    ASSERT_EQ(log_.current().size(), 1U);
    EXPECT_EQ(log_.current()[0].times, 30) << "repeats count";
    EXPECT_EQ(log_.current()[0].found_at, 21);
    EXPECT_EQ(log_.current()[0].last_at, 50);
    EXPECT_EQ(resolved_, 0);
}

TEST_F(Log, WhatCostsLessIsToldInTheSecondStep) {
    look({lasting(kStep * 3 / 100)});
    EXPECT_EQ(opened_, 0);
    EXPECT_TRUE(log_.current().empty());
    look({lasting(kStep * 3 / 100)});
    EXPECT_EQ(opened_, 1);
}

TEST_F(Log, StepsSearchedAtOnceCountOneByOne) {
    Anomaly slow = finding(AnomalyKind::SlowOp, 1, kStep / 5, 3, 27);
    slow.seen.first = 24;
    slow.seen.latest = 0b1010; // 26 and 24
    slow.seen.latest |= 1;     // and 27
    look({slow}, 8);           // steps 21 to 28
    ASSERT_EQ(log_.current().size(), 1U);
    EXPECT_EQ(log_.current()[0].found_at, 28);
    EXPECT_EQ(log_.current()[0].times, 3);
    slow.seen.last = 33;
    slow.seen.latest = 0b1101000001; // 33, 27, 26, 24
    look({slow}, 8);
    EXPECT_EQ(log_.current()[0].times, 4);
    look({}, 8);
    EXPECT_EQ(resolved_, 1) << "step 44 is eleven steps after 33";
    look({lasting(kStep * 3 / 100)}, 8);
    EXPECT_EQ(opened_, 1) << "what costs less is told after the second search";
    look({lasting(kStep * 3 / 100)}, 8);
    EXPECT_EQ(opened_, 2);
}

TEST_F(Log, NoiseThatComesAndGoesIsNotTold) {
    for (int i = 0; i < 40; ++i)
        look(i % 2 == 0 ? std::vector{lasting(kStep * 3 / 100)} : std::vector<Anomaly>{});
    EXPECT_EQ(opened_, 0) << "never twice in succession";
    for (int i = 0; i < 40; ++i)
        look({finding(AnomalyKind::SlowOp, 1, kStep * 4 / 100, 2, step_ + 1)});
    EXPECT_EQ(opened_, 0) << "in two of twenty steps it costs less than cost.least of each";
}

TEST_F(Log, ItIsOverWhenItWasQuietForAWhile) {
    look({finding(AnomalyKind::SlowOp, 1, kStep / 5, 1, 21)});
    EXPECT_EQ(opened_, 1);
    // It stays in the window, but nothing new of it is seen.
    for (int i = 0; i < 8; ++i)
        look({finding(AnomalyKind::SlowOp, 1, kStep / 5, 1, 21)});
    EXPECT_EQ(resolved_, 0);
    look({finding(AnomalyKind::SlowOp, 1, kStep / 5, 1, 21)});
    EXPECT_EQ(resolved_, 1);
    EXPECT_TRUE(log_.current().empty());
    for (int i = 0; i < 20; ++i)
        look({finding(AnomalyKind::SlowOp, 1, kStep / 5, 1, 21)});
    EXPECT_EQ(opened_, 1) << "the same case is not told again";
    look({finding(AnomalyKind::SlowOp, 1, kStep / 5, 2, step_ + 1)});
    EXPECT_EQ(opened_, 2) << "another one is";
}

TEST_F(Log, WhatComesBackAgainAndAgainIsToldLessAndLess) {
    int told_in_first_half = 0;
    for (int i = 0; i < 400; ++i) {
        look(i % 12 == 0 ? std::vector{finding(AnomalyKind::SlowOp, 1, kStep / 5, 1, step_ + 1)}
                         : std::vector<Anomaly>{});
        if (i == 199) told_in_first_half = opened_;
    }
    EXPECT_LE(opened_, 3);
    EXPECT_EQ(opened_, told_in_first_half) << "it stays open";
}

TEST_F(Log, SlowOpsOfManyRanksAreOne) {
    look({finding(AnomalyKind::SlowOp, 1, kStep / 5, 1, 21)});
    EXPECT_EQ(opened_, 1);
    Anomaly everywhere = finding(AnomalyKind::SlowOp, 0, kStep / 5, 4, 22);
    everywhere.rank.reset();
    look({everywhere});
    EXPECT_EQ(opened_, 2);
    EXPECT_EQ(resolved_, 1) << "rank 1 is one of them";
    for (int i = 0; i < 40; ++i)
        look({finding(AnomalyKind::SlowOp, i % 4, kStep / 5, 1, step_ + 1)});
    EXPECT_EQ(opened_, 2) << "they belong to that which is open";
    ASSERT_EQ(log_.current().size(), 1U);
    EXPECT_FALSE(log_.current()[0].anomaly.rank);
    EXPECT_EQ(log_.current()[0].times, 41);
}

TEST_F(Log, SlowOpsOfARankThatIsSlowForGoodAreNotToldBesides) {
    look({finding(AnomalyKind::SlowOp, 2, kStep / 5, 1, 21)});
    look({lasting(kStep / 5)});
    EXPECT_EQ(opened_, 2);
    EXPECT_EQ(resolved_, 1);
    ASSERT_EQ(log_.current().size(), 1U);
    EXPECT_EQ(log_.current()[0].anomaly.kind, AnomalyKind::Straggler);
}

TEST_F(Log, PlacesAreApart) {
    look({finding(AnomalyKind::SlowOp, 1, kStep / 5, 1, 21), finding(AnomalyKind::SlowOp, 2, kStep / 5, 1, 21)});
    EXPECT_EQ(opened_, 2);
    Anomaly fact;
    fact.kind = AnomalyKind::MissingOp;
    fact.rank = Rank{0};
    look({fact});
    EXPECT_EQ(opened_, 3) << "what has no cost is told at once";
    EXPECT_EQ(log_.current().size(), 3U) << "the others are not over yet";
}

} // namespace
} // namespace bubblescope
