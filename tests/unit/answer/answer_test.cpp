// The first statement of an answer, and gains that equal those of what-if.

#include "core/analysis/steps/run_analyzer.h"
#include "core/analysis/whatif/scenario.h"
#include "core/answer/answer.h"
#include "tests/unit/analysis/simulated_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace bubblescope {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kSteps = 8;

/// Every op of a rank takes as many times as long.
bubblescope::Run withSlowRank(const ScheduleSpec& spec, int slow, double times) {
    return makeRunOf(spec, kSteps, [=](int) -> TimeOf {
        return [=](Rank rank, const Op&) { return rank.value == slow ? times : 1; };
    });
}

Answer answerOfRun(bubblescope::Run run) {
    const DiagnosedRun diagnosed = diagnoseRun(std::move(run)).value();
    return answerOf(diagnosed.run, diagnosed.report);
}

std::vector<Concern> concerns(const Answer& answer) {
    std::vector<Concern> out;
    for (const Statement& statement : answer.statements)
        out.push_back(statement.concern);
    return out;
}

CheckRecord mismatch(int step) {
    CheckRecord check;
    check.step = step;
    check.rank = Rank{2};
    check.op = {OpKind::Forward, Microbatch{1}, Chunk{0}};
    check.outcome = CheckOutcome::Mismatch;
    check.kind = CheckKind::Replay;
    check.first = 1;
    check.second = 2;
    check.verdict = Verdict::Device;
    return check;
}

TEST(Answer, OfARunWithoutFaultsIsFine) {
    const Answer answer = answerOfRun(makeRun(k1F1B, kSteps));
    ASSERT_THAT(concerns(answer), ElementsAre(Concern::Fine));
    EXPECT_FALSE(answer.isInDoubt());
    EXPECT_THAT(answer.first().action.text(), HasSubstr("Nothing needs fixing"));
}

TEST(Answer, NamesLostRecordsBeforeWhatCostsTime) {
    bubblescope::Run run = withSlowRank(k1F1B, 2, 1.5);
    run.problems.push_back({"truncated", 1, Sentence("rank3"), say("the file ends inside a packet")});
    const Answer answer = answerOfRun(std::move(run));
    ASSERT_GE(answer.statements.size(), 2U);
    EXPECT_EQ(answer.first().concern, Concern::Data);
    EXPECT_EQ(answer.first().kind, "truncated");
    EXPECT_EQ(answer.statements[1].concern, Concern::Time);
}

TEST(Answer, NeverCallsARunFineWhoseDataIsInDoubt) {
    for (const char* const kind : {"mixed-runs", "rank-ended", "run-ended", "truncated", "missing-ranks", "corrupt"}) {
        bubblescope::Run run = makeRun(k1F1B, kSteps);
        run.problems.push_back({kind, 1, Sentence("a"), say("the file ends inside a packet")});
        const Answer answer = answerOfRun(std::move(run));
        ASSERT_THAT(concerns(answer), ElementsAre(Concern::Data, Concern::Fine)) << kind;
        for (const Statement& statement : answer.statements)
            EXPECT_THAT(statement.action.text(), Not(HasSubstr("Nothing needs fixing"))) << kind;
    }
}

TEST(Answer, LeavesOutProblemsThatOnlyConcernThePicture) {
    bubblescope::Run run = makeRun(k1F1B, kSteps);
    run.problems.push_back({"dangling-flow", 96, Sentence("a"), say("the file ends inside a packet")});
    EXPECT_THAT(concerns(answerOfRun(std::move(run))), ElementsAre(Concern::Fine));
}

TEST(Answer, NamesOneOfSeveralProblemsWithOneCause) {
    const auto problem = [](const char* kind) {
        return Diagnostic{kind, 1, Sentence("a"), say("the file ends inside a packet")};
    };
    const auto statements =
        statementsOf({problem("truncated"), problem("unfinished"), problem("incomplete-step"), problem("rank-ended")});
    ASSERT_EQ(statements.size(), 1U);
    EXPECT_EQ(statements.front().kind, "rank-ended");
    EXPECT_EQ(statementsOf({problem("truncated"), problem("corrupt")}).size(), 2U);
    const auto killed = statementsOf(
        {problem("unfinished"), problem("rank-killed"), problem("unmatched-begin"), problem("rank-ended")});
    ASSERT_EQ(killed.size(), 1U);
    EXPECT_EQ(killed.front().kind, "rank-killed");
}

TEST(Answer, PutsAMismatchBeforeASlowRank) {
    bubblescope::Run run = withSlowRank(k1F1B, 2, 1.5);
    for (int step = 1; step < kSteps; ++step)
        run.checks.checks.push_back(mismatch(step));
    const Answer answer = answerOfRun(std::move(run));
    EXPECT_EQ(answer.first().concern, Concern::Computation);
    EXPECT_EQ(answer.first().where.rank, Rank{2});
    EXPECT_TRUE(answer.isInDoubt());
}

/// Activations come from the previous stage, gradients from the next one.
TEST(Answer, NamesTheSenderOfACorruptedTransfer) {
    for (const auto& [kind, sender] : {std::pair{OpKind::Forward, Rank{1}}, std::pair{OpKind::Backward, Rank{3}}}) {
        bubblescope::Run run = makeRun(k1F1B, kSteps);
        CheckRecord check = mismatch(3);
        check.kind = CheckKind::Transfer;
        check.op.kind = kind;
        check.verdict = Verdict::Open;
        run.checks.checks.push_back(check);
        const Answer answer = answerOfRun(std::move(run));
        EXPECT_EQ(answer.first().where.rank, Rank{2});
        EXPECT_EQ(answer.first().where.peer, sender);
        EXPECT_THAT(answer.first().what.text(), HasSubstr(fmt::format(" Rank {} sent these values;", sender.value)));
    }
}

/// A cost that is too small for a finding is not one for the verdict either.
TEST(Answer, NamesNoCostBelowTheLimitOfFindings) {
    const auto with_transfers = [](TimeNs time) {
        return makeRun(k1F1B, kSteps, [time](int, CostModel& costs) { costs.comm = time; });
    };
    // Transfers lengthen a step of 33 ms by 16 times their latency: 1.4 % and 3.7 %.
    EXPECT_THAT(concerns(answerOfRun(with_transfers(TimeNs{30'000}))), ElementsAre(Concern::Fine));
    EXPECT_THAT(concerns(answerOfRun(with_transfers(TimeNs{80'000}))), ElementsAre(Concern::Time));
}

/// A single long step is not a finding, but a run in which it costs much is not without loss.
TEST(Answer, NamesTheOnlyLongStepIfItCostsMuch) {
    const auto with_step_5 = [](double times) {
        return diagnoseRun(makeRunOf(k1F1B, kSteps,
                                     [=](int step) -> TimeOf {
                                         return [=](Rank, const Op&) { return step == 5 ? times : 1; };
                                     }))
            .value();
    };
    const DiagnosedRun slow = with_step_5(2);
    const Answer answer = answerOf(slow.run, slow.report);
    ASSERT_THAT(concerns(answer), ElementsAre(Concern::Time));
    EXPECT_EQ(answer.first().since, 5);
    EXPECT_EQ(answer.first().cost, slow.report.period.long_excess);
    EXPECT_NEAR(static_cast<double>(answer.first().cost.count()), static_cast<double>(answer.step_time.count()) / 7,
                5e4);
    EXPECT_THAT(answer.first().what.text(), HasSubstr("step 5"));
    const DiagnosedRun hardly = with_step_5(1.1);
    EXPECT_THAT(concerns(answerOf(hardly.run, hardly.report)), ElementsAre(Concern::Fine));
}

TEST(Answer, StatesWhatTheActionWinsAsWhatIfPredictsIt) {
    for (const double times : {1.3, 2.0}) {
        for (const ScheduleSpec& spec :
             {k1F1B, ScheduleSpec{"interleaved", "", 4, 8, 2}, ScheduleSpec{"zb-h1", "", 4, 8, 1}}) {
            const DiagnosedRun diagnosed = diagnoseRun(withSlowRank(spec, 3, times)).value();
            const Answer answer = answerOf(diagnosed.run, diagnosed.report);
            const RunModel model =
                runModel(diagnosed.run, diagnosed.report.selection, diagnosed.report.clocks.bound()).value();
            std::size_t predicted = 0;
            for (const Statement& statement : answer.statements) {
                if (!statement.gain) continue;
                ++predicted;
                const Scenario scenario = parseScenario(std::array{statement.change}).value();
                EXPECT_EQ(*statement.gain, -predict(model, diagnosed.run.schedule, scenario).value().change())
                    << statement.change;
                EXPECT_LE(*statement.gain, answer.step_time);
            }
            EXPECT_GE(predicted, 1U) << spec.name << " " << times;
        }
    }
}

TEST(Answer, MovingLayersWinsLessThanASlowStageCosts) {
    // A stage of four with twice the work: as fast as the others it would save more than balance can.
    const Answer answer = answerOfRun(withSlowRank(k1F1B, 3, 2));
    const Statement& first = answer.first();
    EXPECT_EQ(first.change, "stages=balanced");
    ASSERT_TRUE(first.gain);
    EXPECT_LT(*first.gain, first.cost);
    EXPECT_GT(*first.gain, first.cost / 2);
}

TEST(Answer, LayersDoNotMoveBetweenEncodersAndTheTrunk) {
    ScheduleSpec spec{"1f1b", "", 4, 8};
    spec.encoders = {1, 0};
    const Answer answer = answerOfRun(makeRunOf(
        spec, kSteps, [](int) -> TimeOf { return [](Rank rank, const Op&) { return rank.value == 0 ? 0.2 : 1; }; }));
    EXPECT_EQ(answer.first().kind, "imbalance");
    EXPECT_THAT(answer.first().action.text(), HasSubstr("other numbers of ranks"));
    EXPECT_EQ(answer.first().change, "");
    EXPECT_FALSE(answer.first().gain);
}

TEST(Answer, SortsByWhatCanBeWon) {
    const auto answer = answerOfRun(withSlowRank(k1F1B, 1, 1.4));
    std::vector<TimeNs> worths;
    for (const Statement& statement : answer.statements) {
        if (statement.concern == Concern::Time) worths.push_back(statement.worth());
    }
    EXPECT_TRUE(std::ranges::is_sorted(worths, std::greater<>()));
}

TEST(Answer, NamesTwoRunsBeforeTheIncompletePipelineThatTheyMake) {
    LoadedTrace trace;
    for (const char* const kind : {"dangling-flow", "truncated", "mixed-runs", "mixed-runs"})
        trace.run.problems.push_back({kind, 1, Sentence("b0"), say("the file ends inside a packet")});
    trace.holds_ops = true;
    trace.no_pipeline = inputError("b0", "step 0: rank 0 ran F0.0 twice");
    std::vector<std::string> kinds;
    for (const Statement& statement : answerOf(trace, {}).statements)
        kinds.push_back(statement.kind);
    EXPECT_THAT(kinds, ElementsAre("mixed-runs", "no-whole-pipeline", "truncated"));
}

} // namespace
} // namespace bubblescope
