// Work in bubbles, executed: the engine's ranks are held for as long as the work takes, and the step becomes as long as
// the study of filling predicts, on the emulated clock to the nanosecond.

#include "core/families/registry.h"
#include "core/optimize/fill/fill.h"
#include "core/optimize/fill/fill_replay.h"
#include "tests/unit/runtime/engine_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace bubblescope::runtime {
namespace {

constexpr TimeNs kMs{1'000'000};

struct FilledCase {
    const char* name;
    int pp, microbatches, vpp;
};

Schedule orderOf(const FilledCase& c) {
    ScheduleSpec spec;
    spec.name = c.name;
    spec.pp = c.pp;
    spec.microbatches = c.microbatches;
    spec.vpp = c.vpp;
    auto made = makeSchedule(spec);
    EXPECT_TRUE(made.ok()) << c.name;
    return std::move(made).value();
}

/// The rank does something else before the op, in step 1.
Fault held(Rank rank, const Op& op, TimeNs time) {
    Fault fault;
    fault.kind = FaultKind::Pause;
    fault.ranks = {rank.value, rank.value};
    fault.steps = {1, 1};
    fault.ops = {op.kind, op.microbatch, op.chunk};
    fault.time = time;
    return fault;
}

TimeNs measuredLength(const test::EngineRun& run) {
    const TimeNs begin = test::beginOf(run, 1);
    TimeNs end = begin;
    for (const auto& rank : run.records) {
        for (const profiler::SliceRecord& record : rank) {
            if (record.step == 1 && record.category == profiler::SliceRecord::Category::Op &&
                record.kind != OpKind::Optimizer)
                end = std::max(end, record.end);
        }
    }
    return end - begin;
}

/// The work placed before ops, except before the first op of a rank, whose begin is the step's.
TimeNs measuredWith(const Schedule& schedule, const CostModel& costs, const FillChanges& changes) {
    test::EngineRun run(schedule, costs);
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
        for (std::size_t i = 1; i < schedule.ranks[r].size(); ++i) {
            if (changes.before[r][i] > TimeNs{0})
                run.faults.push_back(held(Rank{r}, schedule.ranks[r][i], changes.before[r][i]));
        }
    }
    const Result<EngineResult> result = run.run();
    EXPECT_TRUE(result.ok()) << result.error().text();
    return measuredLength(run);
}

class FilledRun : public ::testing::TestWithParam<FilledCase> {};

TEST_P(FilledRun, IsAsLongAsTheReplayPredicts) {
    const Schedule schedule = orderOf(GetParam());
    const CostModel costs = test::someTimes(kMs);
    const StepTimeline step = simulate(schedule, costs).value();
    FillReplay replay(step);
    std::mt19937 random(5);
    int delayed = 0;
    for (int draw = 0; draw < 6; ++draw) {
        FillChanges changes(step);
        for (auto& rank : changes.before) {
            for (std::size_t i = 1; i + 1 < rank.size(); ++i)
                if (random() % 4 == 0) rank[i] = TimeNs{static_cast<std::int64_t>(random() % 12'000'000)};
        }
        const TimeNs predicted = replay.run(changes);
        EXPECT_EQ(measuredWith(schedule, costs, changes), predicted) << draw;
        delayed += predicted > step.wall() ? 1 : 0;
    }
    EXPECT_GT(delayed, 3);
}

TEST_P(FilledRun, IsNoLongerWithWhatTheStudyPlaces) {
    const Schedule schedule = orderOf(GetParam());
    const CostModel costs = test::someTimes(kMs);
    const StepTimeline step = simulate(schedule, costs).value();
    const StepTimeline* const only = &step;
    FillOptions options;
    options.encoder = 2 * kMs;
    options.side_job = {kMs / 2, kMs};
    const auto study = studyFill({&only, 1}, step, options);
    ASSERT_TRUE(study.ok()) << study.error().text();
    int tried = 0;
    for (const FilledWork& work : study.value().works) {
        if (work.kind != FillKind::Encoder && work.kind != FillKind::SideJob && work.kind != FillKind::Checks) continue;
        FillChanges changes(step);
        for (const FilledBubble& filled : work.bubbles) {
            const FillBubble& bubble = study.value().bubbles[filled.bubble];
            changes.before[bubble.rank.index()][bubble.next_op] += filled.time;
        }
        EXPECT_GT(work.placed, 0) << fillKindName(work.kind);
        EXPECT_EQ(measuredWith(schedule, costs, changes) - step.wall(), work.delay) << fillKindName(work.kind);
        ++tried;
    }
    EXPECT_EQ(tried, 3);
}

INSTANTIATE_TEST_SUITE_P(Orders, FilledRun,
                         ::testing::Values(FilledCase{"1f1b", 4, 8, 1}, FilledCase{"fthenb", 3, 4, 1},
                                           FilledCase{"interleaved", 4, 8, 2}, FilledCase{"zb-h1", 4, 6, 1}),
                         [](const auto& test) {
                             std::string name = test.param.name;
                             std::erase(name, '-');
                             return name;
                         });

} // namespace
} // namespace bubblescope::runtime
