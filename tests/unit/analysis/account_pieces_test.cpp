#include "core/analysis/account_pieces.h"
#include "core/analysis/steps/run_analyzer.h"
#include "tests/support/jittered_run.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope {
namespace {

using Kind = AccountPiece::Kind;

TimeNs sum(const std::vector<TimeInterval>& intervals) {
    TimeNs total{0};
    for (const TimeInterval& interval : intervals)
        total += interval.end - interval.start;
    return total;
}

class AccountPieces : public testing::Test {
protected:
    /// Rank 2 takes half as long again as the others.
    AccountPieces() {
        test::JitteredRun wanted;
        wanted.spec = {"1f1b", "", 4, 8, 1};
        wanted.steps = 5;
        wanted.op_factor = [](int, Rank rank, const Op&) { return rank.value == 2 ? 1.5 : 1.0; };
        run_ = test::makeJitteredRun(wanted, 7);
        diagnosis_ = diagnosisOf(run_, 3);
    }
    [[nodiscard]] static StepDiagnosis diagnosisOf(const bubblescope::Run& run, std::size_t step) {
        return analyzeRun(run).diagnosesOf(run).of(step);
    }
    [[nodiscard]] RankAccounting account(int rank) const {
        return diagnosis_.accounting.ranks[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] std::vector<TimeInterval> where(const AccountPiece& piece, int rank) const {
        return whereIs(piece, run_.steps[3], diagnosis_, Rank(rank));
    }

    bubblescope::Run run_;
    StepDiagnosis diagnosis_; ///< of step 3
};

TEST_F(AccountPieces, AddUpToTheWallTime) {
    for (int rank = 0; rank < 4; ++rank) {
        TimeNs total{0};
        for (const AccountPiece& piece : accountPieces())
            total += timeOf(account(rank), piece);
        EXPECT_EQ(total, run_.steps[3].wall());
    }
}

TEST_F(AccountPieces, OpsLieWhereTheyRan) {
    for (const OpKind kind : {OpKind::Forward, OpKind::Backward}) {
        const AccountPiece piece{Kind::Compute, kind, {}};
        const std::vector<TimeInterval> found = where(piece, 1);
        EXPECT_EQ(found.size(), 8U);
        EXPECT_EQ(sum(found), timeOf(account(1), piece));
    }
    EXPECT_TRUE(where({Kind::Compute, OpKind::BackwardWeight, {}}, 1).empty());
    EXPECT_TRUE(where({Kind::Overlapped, {}, {}}, 1).empty());
}

TEST_F(AccountPieces, PairsAreOneStretchEach) {
    test::JitteredRun wanted;
    wanted.spec = {"1f1b-overlap", "", 4, 8, 1};
    wanted.steps = 2;
    const bubblescope::Run run = test::makeJitteredRun(wanted, 1);
    const StepDiagnosis diagnosis = diagnosisOf(run, 1);
    const AccountPiece pairs{Kind::Overlapped, {}, {}};
    const auto found = whereIs(pairs, run.steps[1], diagnosis, Rank(0));
    EXPECT_FALSE(found.empty());
    EXPECT_EQ(sum(found), timeOf(diagnosis.accounting.ranks[0], pairs));
}

TEST_F(AccountPieces, ASlowStagesWaitsLieInBubblesOfTheOthers) {
    const AccountPiece imbalance{Kind::Cause, {}, Cause::Imbalance};
    ASSERT_GT(timeOf(account(0), imbalance), TimeNs{0});
    const std::vector<TimeInterval> found = where(imbalance, 0);
    ASSERT_FALSE(found.empty());
    EXPECT_TRUE(std::ranges::is_sorted(found, {}, &TimeInterval::start));
    for (const TimeInterval& wait : found) {
        EXPECT_GE(wait.start, run_.steps[3].begin);
        EXPECT_LE(wait.end, run_.steps[3].end);
        for (const TimelineOp& op : run_.steps[3].ranks[0])
            EXPECT_TRUE(op.end <= wait.start || op.start >= wait.end) << opName(op.op);
    }
}

TEST_F(AccountPieces, CommunicationHasTheRecordedWaits) {
    std::size_t waits = 0;
    for (const CommSpan& span : run_.steps[3].comm[0])
        waits += span.kind == CommKind::Wait ? 1 : 0;
    ASSERT_GT(waits, 0U);
    EXPECT_GE(where({Kind::Cause, {}, Cause::Communication}, 0).size(), waits);
}

TEST_F(AccountPieces, KnowNoOtherRank) {
    EXPECT_TRUE(where({Kind::Compute, OpKind::Forward, {}}, 9).empty());
}

TEST(AccountPieceList, HasEveryPieceOnce) {
    EXPECT_EQ(accountPieces().size(), 6 + kCauseCount);
    for (const AccountPiece& piece : accountPieces())
        EXPECT_EQ(std::ranges::count(accountPieces(), piece), 1);
}

} // namespace
} // namespace bubblescope
