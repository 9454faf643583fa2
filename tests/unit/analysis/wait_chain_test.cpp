#include "core/analysis/attribution/attribution.h"

#include "core/analysis/steps/run_analyzer.h"
#include "tests/support/jittered_run.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope {
namespace {

class WaitChain : public testing::Test {
protected:
    /// One forward of rank 2 takes four times as long in step 3.
    WaitChain() {
        test::JitteredRun wanted;
        wanted.spec = {"1f1b", "", 4, 8, 1};
        wanted.steps = 6;
        wanted.op_factor = [](int step, Rank rank, const Op& op) {
            const bool slow = step == 3 && rank.value == 2 && op.kind == OpKind::Forward && op.microbatch.value == 4;
            return slow ? 4.0 : 1.0;
        };
        run_ = test::makeJitteredRun(wanted, 5);
        diagnosis_ = analyzeRun(run_).diagnosesOf(run_).of(3);
    }
    [[nodiscard]] const StepDiagnosis& diagnosis() const { return diagnosis_; }

    bubblescope::Run run_;
    StepDiagnosis diagnosis_; ///< of step 3
};

TEST_F(WaitChain, LeadsFromTheBubbleToItsCause) {
    const StepGraph graph(run_.steps[3]);
    const std::vector<Binding> latest = bindings(graph);
    int led = 0;
    for (const AttributedBubble& bubble : diagnosis().attribution.bubbles) {
        const std::vector<UnitIndex> chain = waitChain(graph, latest, bubble);
        EXPECT_EQ(chain.empty(), bubble.before == kNoUnit);
        if (chain.empty()) continue;
        EXPECT_EQ(chain.front(), bubble.before);
        for (std::size_t i = 1; i < chain.size(); ++i)
            EXPECT_EQ(latest[StepGraph::at(chain[i - 1])].unit, chain[i]);
        if (bubble.rank.value != 3 || !bubble.cause || bubble.cause->kind != RootCauseKind::SlowOp) continue;
        const UnitPlace& place = diagnosis().place(bubble.cause->unit);
        if (place.rank != Rank{2} || place.in(run_.steps[3]).op.microbatch != Microbatch{4}) continue;
        EXPECT_NE(std::ranges::find(chain, bubble.cause->unit), chain.end());
        ++led;
    }
    EXPECT_GT(led, 0);
}

TEST_F(WaitChain, AnIntervalIsExplainedByTheWaitThatCoversMostOfIt) {
    const StepAttribution& attribution = diagnosis().attribution;
    for (const AttributedBubble& bubble : attribution.bubbles)
        EXPECT_EQ(findAttributed(attribution, bubble.rank, {bubble.start, bubble.end}), bubble);
    EXPECT_EQ(findAttributed(attribution, Rank{0}, {TimeNs{-10}, TimeNs{-5}}), std::nullopt);
    EXPECT_EQ(findAttributed(attribution, Rank{7}, {TimeNs{0}, run_.steps[3].wall()}), std::nullopt);
}

} // namespace
} // namespace bubblescope
