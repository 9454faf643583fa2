#include "core/live/live_analyzer.h"
#include "tests/unit/live/recorded_ranks.h"

#include <gtest/gtest.h>

#include <vector>

namespace bubblescope::live {
namespace {

using namespace std::chrono_literals;
using test::RecordedRanks;

/// An analyzer that receives a run with checks.
class Heard {
public:
    Heard() {
        for (int rank = 0; rank < ranks.ranks(); ++rank)
            streams_.push_back(analyzer.open());
    }
    void writeStep(int step) {
        for (int rank = 0; rank < ranks.ranks(); ++rank)
            ranks.write(rank, run.steps[static_cast<std::size_t>(step)], step);
    }
    /// Before the rank's first op of the step.
    void writeCheck(int rank, int step, CheckOutcome outcome, std::uint64_t second = 7) {
        const StepTimeline& timeline = run.steps[static_cast<std::size_t>(step)];
        const TimelineOp& first = timeline.ranks[static_cast<std::size_t>(rank)].front();
        CheckRecord check;
        check.outcome = outcome;
        check.step = step;
        check.op = first.op;
        check.layer = 2;
        check.tensor = "activation";
        check.first = 7;
        check.second = second;
        check.start = timeline.begin + (first.start - timeline.begin) / 4;
        check.end = timeline.begin + (first.start - timeline.begin) / 2;
        std::vector<CheckRecord> checks{check};
        std::vector<DigestRecord> digests;
        ASSERT_TRUE(ranks.writer(rank).append(checks, digests).ok());
    }
    void hear() {
        for (int rank = 0; rank < ranks.ranks(); ++rank)
            analyzer.feed(streams_[static_cast<std::size_t>(rank)], ranks.news(rank), now);
        now += 1s;
        (void)analyzer.advance(now);
    }
    [[nodiscard]] const std::vector<CheckRecord>& checks() const { return analyzer.window()->run().checks.checks; }

    test::JitteredRun wanted = test::fourRanks(60);
    Run run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks{test::infoOf(wanted)};
    LiveAnalyzer analyzer;
    TimeNs now{0};

private:
    std::vector<LiveAnalyzer::Stream> streams_;
};

TEST(LiveChecks, AreKeptWithTheirSteps) {
    Heard heard;
    heard.writeCheck(2, 0, CheckOutcome::Equal);
    heard.writeCheck(1, 1, CheckOutcome::Mismatch, 8);
    heard.writeStep(0);
    heard.writeStep(1);
    heard.hear();
    heard.hear();
    ASSERT_EQ(heard.checks().size(), 2U);
    const CheckRecord& check = heard.checks().front(); // by place
    EXPECT_EQ(check.rank, Rank{1});
    EXPECT_EQ(check.step, 1);
    EXPECT_EQ(check.outcome, CheckOutcome::Mismatch);
    EXPECT_EQ(check.tensor, "activation");
    EXPECT_EQ(check.second, 8U);
    const CheckPlace place{0, Rank{1}, 0};
    ASSERT_TRUE(heard.analyzer.window()->run().checks.devices.contains(place));
    EXPECT_EQ(heard.analyzer.window()->run().checks.devices.at(place).host, "host");
    EXPECT_EQ(heard.analyzer.window()->report().steps[1].ranks[1].replay, check.end - check.start);
    EXPECT_EQ(heard.analyzer.window()->report().steps[0].ranks[1].replay, 0ns);
}

TEST(LiveChecks, ComeLateAndGoWithTheirSteps) {
    Heard heard;
    for (int step = 0; step < 3; ++step)
        heard.writeStep(step);
    heard.hear();
    ASSERT_NE(heard.analyzer.window(), nullptr);
    const std::int64_t before = heard.analyzer.window()->changes();
    heard.writeCheck(3, 1, CheckOutcome::Equal);
    heard.writeCheck(3, 1, CheckOutcome::Equal); // the same time is not counted twice
    heard.hear();
    EXPECT_GT(heard.analyzer.window()->changes(), before);
    ASSERT_EQ(heard.checks().size(), 2U);
    const CheckRecord check = heard.checks().front();
    EXPECT_EQ(heard.analyzer.window()->report().steps[1].ranks[3].replay, check.end - check.start);

    for (int step = 3; step < 60; ++step) {
        heard.writeCheck(2, step, CheckOutcome::Equal);
        heard.writeStep(step);
        heard.hear();
    }
    // The first steps stay, and the last.
    EXPECT_EQ(heard.checks().size(), 2U + heard.analyzer.window()->run().steps.size() - 3U);
    const std::int64_t now = heard.analyzer.window()->changes();
    heard.writeCheck(1, 20, CheckOutcome::Equal); // of a step that was dropped long ago
    heard.hear();
    EXPECT_EQ(heard.analyzer.window()->changes(), now);
    EXPECT_EQ(heard.analyzer.checks().equal, 2 + 57 + 1) << "it counts all the same";
}

TEST(LiveChecks, OnesThatContradictThemselvesAreNotShown) {
    Heard heard;
    heard.writeCheck(1, 0, CheckOutcome::Equal, 8);
    heard.writeStep(0);
    heard.hear();
    EXPECT_TRUE(heard.checks().empty());
    EXPECT_EQ(heard.analyzer.checks().equal, 1);
}

} // namespace
} // namespace bubblescope::live
