#include "core/aadiff/check_session.h"

#include "core/aadiff/mismatch.h"
#include "core/families/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

namespace bubblescope {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// Rank 0 of 1F1B with two stages and three micro-batches, which runs F0 F1 B0 F2 B1 B2; forwards take 2 ms, backwards
/// 4 ms. It waits before its backwards. Only forwards are checked, in halves.
class CheckSessions : public ::testing::Test {
protected:
    CheckSessions() { session_.emplace(CheckSession::make(config()).value()); }

    static CheckSession::Config config() {
        CheckSession::Config config;
        config.schedule = makeSchedule({"1f1b", "", 2, 3, 1}).value();
        config.place = {0, Rank{0}, 0};
        config.layers = {2};
        config.kinds = {OpKind::Forward};
        config.times = OpTimes{2ms, 4ms, 2ms, 2ms, 0ms};
        return config;
    }

    /// Runs the ops from `from` to before `to`, with `wait` before each backward. The first `slow` ops take
    /// `more` time. First digests are 5.
    void run(std::size_t from, std::size_t to, TimeNs wait, std::size_t slow = 0, TimeNs more = {}) {
        const std::vector<Op>& order = session_->schedule().ranks[0];
        for (std::size_t i = from; i < to; ++i) {
            const bool forward = order[i].kind == OpKind::Forward;
            now_ += forward ? TimeNs{0} : wait;
            const TimeNs start = now_;
            now_ += (forward ? 2ms : 4ms) + (i < slow ? more : TimeNs{0});
            for (int layer = 0; forward && layer < 2; ++layer)
                EXPECT_TRUE(session_->computed({order[i], layer}, "output", 5, now_).ok());
            EXPECT_TRUE(session_->ran(order[i], start, now_).ok());
        }
    }

    std::optional<CheckTask> ask(std::optional<TimeNs> free = {}) { return session_->ask(now_, free).value(); }
    CheckOutcome check(const CheckTask& task, std::uint64_t digest = 5, TimeNs took = 1ms) {
        return session_->checked(task.what, "output", digest, now_, now_ + took).value();
    }

    std::optional<CheckSession> session_;
    TimeNs now_{0};
    static constexpr std::size_t kFirstBackward = 2;
};

TEST_F(CheckSessions, AskForWhatFitsIntoTheBubble) {
    ASSERT_TRUE(session_->beginStep(3).ok());
    ASSERT_FALSE(session_->planned().empty());
    EXPECT_FALSE(ask()) << "nothing has run that could be run again";
    run(0, kFirstBackward, 0ms);
    EXPECT_FALSE(ask(1ms)) << "half a forward and its margin take longer";
    const std::optional<CheckTask> task = ask(1100us);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->cost, TimeNs(1ms));
    EXPECT_EQ(task->what.op.kind, OpKind::Forward);
    EXPECT_TRUE(session_->wanted(task->what).value());
    EXPECT_EQ(check(*task), CheckOutcome::Equal);
    EXPECT_FALSE(session_->wanted(task->what).value());
    run(kFirstBackward, 6, 6ms);
    const CheckedStep step = session_->endStep().value();
    EXPECT_EQ(step.number, 3);
    EXPECT_EQ(step.ops.size(), 6U);
    EXPECT_EQ(step.digests.size(), 6U);
    EXPECT_EQ(step.checks.size(), static_cast<std::size_t>(session_->counts().planned)) << "others are skipped";
    EXPECT_EQ(step.checks.front().outcome, CheckOutcome::Equal);
    EXPECT_EQ(step.checks.back().outcome, CheckOutcome::Skipped);
    EXPECT_EQ(session_->counts().checks.equal, 1);
    EXPECT_EQ(session_->counts().covered, 1);
    EXPECT_EQ(session_->counts().units, 2);
}

TEST_F(CheckSessions, AskAgainInALaterBubble) {
    ASSERT_TRUE(session_->beginStep(0).ok());
    run(0, kFirstBackward, 0ms);
    ASSERT_FALSE(ask(100us));
    run(kFirstBackward, 4, 6ms);
    EXPECT_TRUE(ask(2ms));
}

/// Otherwise the units at the end of the plan would never be checked.
TEST_F(CheckSessions, TakeTurnsIfOnlyOneCheckFitsPerStep) {
    std::set<int> checked;
    for (int step = 0; step < 2; ++step) {
        ASSERT_TRUE(session_->beginStep(step).ok());
        run(0, kFirstBackward, 0ms);
        const std::optional<CheckTask> task = ask(1100us);
        ASSERT_TRUE(task);
        EXPECT_EQ(task->what, session_->planned().front());
        check(*task);
        checked.insert(task->what.layer);
        run(kFirstBackward, 6, 6ms);
        ASSERT_TRUE(session_->endStep().ok());
    }
    EXPECT_EQ(checked, (std::set<int>{0, 1}));
    EXPECT_EQ(session_->counts().covered, session_->counts().units);
}

/// The plan prefers bubbles after the last op, in which a recorded job does not wait.
TEST_F(CheckSessions, MoveAUnitToAnotherMicrobatch) {
    ASSERT_TRUE(session_->beginStep(0).ok());
    const LayerOp planned = session_->planned().front();
    constexpr std::array kMicrobatches{0, 1, 2};
    const auto* const other = std::ranges::find_if(kMicrobatches, [&](int microbatch) {
        LayerOp what = planned;
        what.op.microbatch = Microbatch{microbatch};
        return !session_->wanted(what).value();
    });
    ASSERT_NE(other, kMicrobatches.end());
    EXPECT_THAT(session_->move(planned, Microbatch{3}).error().text(), HasSubstr("has no layer"));
    ASSERT_TRUE(session_->move(planned, Microbatch{*other}).ok());
    EXPECT_FALSE(session_->wanted(planned).value());
    EXPECT_EQ(session_->planned().front().op.microbatch, Microbatch{*other});
    EXPECT_THAT(session_->move(planned, Microbatch{0}).error().text(), HasSubstr("is pending"));
    EXPECT_THAT(session_->move(session_->planned().front(), Microbatch{*other}).error().text(), HasSubstr("already"));
}

TEST_F(CheckSessions, ForecastTheShortestOfTheLastBubbles) {
    for (int step = 0; step < 2; ++step) {
        ASSERT_TRUE(session_->beginStep(step).ok());
        run(0, 6, step == 0 ? 5ms : 2ms);
        ASSERT_TRUE(session_->endStep().ok());
    }
    ASSERT_TRUE(session_->beginStep(2).ok());
    run(0, kFirstBackward, 0ms);
    const std::optional<CheckTask> task = ask();
    ASSERT_TRUE(task);
    EXPECT_EQ(task->free, BubbleForecast::usable(2ms));
    now_ += 1ms;
    EXPECT_FALSE(ask()) << "0.6 ms are left of it";
}

TEST_F(CheckSessions, CountACheckAsLongAsTheSlowestOfTheLast) {
    ASSERT_TRUE(session_->beginStep(0).ok());
    run(0, kFirstBackward, 0ms);
    std::optional<CheckTask> task = ask(6ms);
    ASSERT_TRUE(task);
    check(*task, 5, 9ms);
    EXPECT_FALSE(ask(9ms));
    task = ask(10ms);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->cost, TimeNs(9ms));
    check(*task, 5, 1ms);
    run(kFirstBackward, 6, 6ms);
    ASSERT_TRUE(session_->endStep().ok());
    // A step in which it does not fit forgets the slowest: the machine may have been busy elsewhere.
    ASSERT_TRUE(session_->beginStep(1).ok());
    run(0, 6, 6ms);
    ASSERT_TRUE(session_->endStep().ok());
    ASSERT_TRUE(session_->beginStep(2).ok());
    run(0, kFirstBackward, 0ms);
    task = ask(6ms);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->cost, TimeNs(1ms));
}

TEST_F(CheckSessions, ForgetASingleCostThatDoesNotFitForAWhile) {
    for (int step = 0; step < 10; ++step) {
        ASSERT_TRUE(session_->beginStep(step).ok());
        run(0, kFirstBackward, 0ms);
        const std::optional<CheckTask> task = ask(6ms);
        ASSERT_EQ(task.has_value(), step == 0 || step == 9) << step << ": only one check ran, and it took 9 ms";
        if (task) check(*task, 5, 9ms);
        EXPECT_FALSE(ask(6ms));
        run(kFirstBackward, 6, 6ms);
        ASSERT_TRUE(session_->endStep().ok());
    }
}

TEST_F(CheckSessions, RecordMismatchesAndChecksGivenUp) {
    ASSERT_TRUE(session_->beginStep(0).ok());
    run(0, kFirstBackward, 0ms);
    std::optional<CheckTask> task = ask(10ms);
    ASSERT_TRUE(task);
    EXPECT_EQ(check(*task, 6), CheckOutcome::Mismatch);
    const std::array<std::uint64_t, 2> here{5, 5};
    EXPECT_EQ(session_->repeated(here, {}).value(), Verdict::Transient);
    task = ask(10ms);
    ASSERT_TRUE(task);
    ASSERT_TRUE(session_->givenUp(task->what, now_, now_ + 1ms).ok());
    EXPECT_FALSE(session_->givenUp(task->what, now_, now_).ok()) << "twice";
    run(kFirstBackward, 6, 6ms);
    const CheckedStep step = session_->endStep().value();
    EXPECT_EQ(step.checks[0].verdict, Verdict::Transient);
    EXPECT_EQ(step.checks[0].first, 5U);
    EXPECT_EQ(step.checks[0].second, 6U);
    EXPECT_EQ(step.checks[1].outcome, CheckOutcome::Aborted);
    EXPECT_EQ(session_->counts().checks.mismatched, 1);
    EXPECT_EQ(session_->counts().checks.aborted, 1);
}

TEST_F(CheckSessions, HaveNoChecksAfterAnOpOutOfOrder) {
    ASSERT_TRUE(session_->beginStep(0).ok());
    const Op second = session_->schedule().ranks[0][1];
    ASSERT_TRUE(session_->computed({second, 0}, "output", 1, now_).ok());
    ASSERT_TRUE(session_->ran(second, 0ms, 2ms).ok());
    EXPECT_FALSE(ask(1s));
}

TEST_F(CheckSessions, MeasureOpTimesWhereNoneAreGiven) {
    CheckSession::Config measured = config();
    measured.times.reset();
    session_.emplace(CheckSession::make(measured).value());
    for (int step = 0; step < 2; ++step) {
        ASSERT_TRUE(session_->beginStep(step).ok());
        EXPECT_TRUE(session_->planned().empty());
        run(0, 6, 6ms);
        ASSERT_TRUE(session_->endStep().ok());
    }
    ASSERT_TRUE(session_->beginStep(2).ok());
    EXPECT_FALSE(session_->planned().empty());
    EXPECT_THAT(session_->leaveOut(Chunk{0}, 0, {}).error().text(), HasSubstr("before the checks are planned"));
}

TEST_F(CheckSessions, PlanWithTimesOfOpsThatWereNotDisturbed) {
    CheckSession::Config measured = config();
    measured.times.reset();
    session_.emplace(CheckSession::make(measured).value());
    for (int step = 0; step < 2; ++step) {
        ASSERT_TRUE(session_->beginStep(step).ok());
        run(0, 6, 6ms, kFirstBackward, 100ms);
        ASSERT_TRUE(session_->endStep().ok());
    }
    ASSERT_TRUE(session_->beginStep(2).ok());
    EXPECT_FALSE(session_->planned().empty()) << "two of three forwards took longer than the bubbles";
}

TEST(VerdictOf, FollowsItsDefinition) {
    using Digests = std::vector<std::uint64_t>;
    const auto verdict = [](const Digests& here, const Digests& there) { return verdictOf(5, 6, here, there); };
    EXPECT_EQ(verdict({5, 5}, {}), Verdict::Transient);
    EXPECT_EQ(verdict({6, 6}, {}), Verdict::Transient);
    EXPECT_EQ(verdict({5, 5}, {5, 5}), Verdict::Transient);
    EXPECT_EQ(verdict({7, 7}, {}), Verdict::Open) << "a third result explains neither of the first two";
    EXPECT_EQ(verdict({5, 6}, {}), Verdict::Open);
    EXPECT_EQ(verdict({}, {}), Verdict::Open);
    EXPECT_EQ(verdict({5, 6}, {5, 5}), Verdict::Device);
    EXPECT_EQ(verdict({6, 6}, {5, 5}), Verdict::Device) << "it repeats its fault bit by bit";
    EXPECT_EQ(verdict({}, {5, 5}), Verdict::Device);
    EXPECT_EQ(verdict({5, 6}, {5, 6}), Verdict::Everywhere);
    EXPECT_EQ(verdict({}, {5, 6}), Verdict::Everywhere);
}

} // namespace
} // namespace bubblescope
