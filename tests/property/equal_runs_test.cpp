// Comparing runs of the same setup must not raise false alarms: over many pairs, at most the stated share shows any
// change.

#include "core/analysis/comparison/compare_runs.h"
#include "tests/support/jittered_run.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

int falseAlarms(const test::JitteredRun& run, int pairs) {
    CompareLimits limits;
    limits.least_share = 0; // every difference that the test believes in counts
    int alarms = 0;
    for (int i = 0; i < pairs; ++i) {
        const auto seed = static_cast<unsigned>(2 * i);
        const RunComparison result =
            compareRuns(test::makeJitteredRun(run, seed), test::makeJitteredRun(run, seed + 1), limits);
        alarms += !result.changes.empty() || !result.ops.empty() || result.step_changed ? 1 : 0;
    }
    return alarms;
}

// At 5 %, 200 pairs give more than 20 alarms less than once in a thousand times.
constexpr int kPairs = 200;
constexpr int kMost = 20;

TEST(EqualRuns, FewStepsTriedInAllWays) {
    test::JitteredRun run;
    run.spec.name = "1f1b";
    run.spec.pp = 3;
    run.spec.microbatches = 6;
    run.steps = 6;
    EXPECT_LE(falseAlarms(run, kPairs), kMost);
}

TEST(EqualRuns, ManyStepsOfAnInterleavedSchedule) {
    test::JitteredRun run;
    run.spec.name = "interleaved";
    run.spec.pp = 2;
    run.spec.microbatches = 4;
    run.spec.vpp = 2;
    run.steps = 16;
    run.step_spread = 0.05; // ops of a step are far from independent
    EXPECT_LE(falseAlarms(run, kPairs), kMost);
}

TEST(EqualRuns, OutliersInSomeSteps) {
    test::JitteredRun run;
    run.spec.name = "1f1b";
    run.spec.pp = 3;
    run.spec.microbatches = 6;
    run.steps = 12;
    run.op_factor = [](int step, Rank rank, const Op& op) {
        return (step * 7 + rank.value * 3 + op.microbatch.value) % 29 == 0 ? 3.0 : 1.0;
    };
    EXPECT_LE(falseAlarms(run, kPairs), kMost);
}

} // namespace
} // namespace bubblescope
