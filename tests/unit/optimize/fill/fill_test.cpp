#include "core/optimize/fill/fill.h"

#include "core/cost/measured_times.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/optimize/fill/fill_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace bubblescope {
namespace {

constexpr TimeNs kMs{1'000'000};

Schedule made(const std::string& name, int pp, int microbatches, int vpp = 1) {
    ScheduleSpec spec;
    spec.name = name;
    spec.pp = pp;
    spec.microbatches = microbatches;
    spec.vpp = vpp;
    auto schedule = makeSchedule(spec);
    EXPECT_TRUE(schedule.ok()) << name;
    return std::move(schedule).value();
}

StepTimeline simulated(const Schedule& schedule, TimeNs forward, TimeNs backward, TimeNs comm = TimeNs{0}) {
    CostModel costs;
    costs.times = makeOpTimes(forward, backward, {}, {}).value();
    costs.comm = comm;
    auto step = simulate(schedule, costs);
    EXPECT_TRUE(step.ok());
    return std::move(step).value();
}

FillStudy study(const StepTimeline& step, const FillOptions& options) {
    const StepTimeline* const only = &step;
    auto result = studyFill({&only, 1}, step, options);
    EXPECT_TRUE(result.ok());
    return std::move(result).value();
}

FilledWork workOf(const FillStudy& study, FillKind kind) {
    const auto found = std::ranges::find(study.works, kind, &FilledWork::kind);
    EXPECT_NE(found, study.works.end());
    return *found;
}

/// The step with work before ops, from the rules alone: an op starts when its rank has finished all earlier work and
/// its inputs have arrived.
TimeNs naiveLength(const Schedule& schedule, const std::vector<std::vector<TimeNs>>& before, TimeNs forward,
                   TimeNs backward, TimeNs comm) {
    std::map<std::tuple<OpKind, int, int>, TimeNs> ends; // kind, micro-batch, stage
    std::vector<std::size_t> at(schedule.ranks.size(), 0);
    std::vector<TimeNs> free(schedule.ranks.size(), TimeNs{0});
    const int last = schedule.stages() - 1;
    TimeNs length{0};
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
            while (at[r] < schedule.ranks[r].size()) {
                const Op& op = schedule.ranks[r][at[r]];
                const int stage = schedule.stageOf(Rank{r}, op.chunk).value;
                const bool is_forward = op.kind == OpKind::Forward;
                TimeNs ready = free[r] + before[r][at[r]];
                const int from = is_forward ? stage - 1 : stage + 1;
                if (from >= 0 && from <= last) {
                    const auto input = ends.find({op.kind, op.microbatch.value, from});
                    if (input == ends.end()) break;
                    const bool crosses = locate(schedule.placement, schedule.pp, Stage{from}).rank != Rank{r};
                    ready = std::max(ready, input->second + (crosses ? comm : TimeNs{0}));
                } else if (!is_forward) {
                    const auto input = ends.find({OpKind::Forward, op.microbatch.value, stage});
                    if (input == ends.end()) break;
                    ready = std::max(ready, input->second);
                }
                free[r] = ready + (is_forward ? forward : backward);
                ends[{op.kind, op.microbatch.value, stage}] = free[r];
                length = std::max(length, free[r]);
                ++at[r];
                moved = true;
            }
        }
    }
    for (std::size_t r = 0; r < before.size(); ++r) {
        if (before[r].back() > TimeNs{0}) length = std::max(length, free[r] + before[r].back());
    }
    return length;
}

TEST(FillReplay, IsTheStepWithWorkInItsBubbles) {
    std::mt19937 random(3);
    for (const auto& [name, vpp] : {std::pair("1f1b", 1), std::pair("fthenb", 1), std::pair("interleaved", 2)}) {
        for (int pp = 1; pp <= 4; ++pp) {
            const Schedule schedule = made(name, pp, 2 * pp, vpp);
            const StepTimeline step = simulated(schedule, kMs, 2 * kMs, kMs / 4);
            FillReplay replay(step);
            EXPECT_EQ(replay.run(FillChanges(step)), step.wall());
            for (int draw = 0; draw < 20; ++draw) {
                FillChanges changes(step);
                for (auto& rank : changes.before) {
                    for (TimeNs& time : rank)
                        time = random() % 3 == 0 ? TimeNs{static_cast<std::int64_t>(random() % 3'000'000)} : TimeNs{0};
                }
                EXPECT_EQ(replay.run(changes), naiveLength(schedule, changes.before, kMs, 2 * kMs, kMs / 4))
                    << name << " " << pp;
            }
        }
    }
}

TEST(FillReplay, WaitsAreTheBubbles) {
    const Schedule schedule = made("1f1b", 4, 8);
    const StepTimeline step = simulated(schedule, kMs, 2 * kMs);
    const FillReplay replay(step);
    for (int r = 0; r < 4; ++r) {
        TimeNs sum{0};
        for (const TimeNs wait : replay.waits(Rank{r}))
            sum += wait;
        EXPECT_EQ(sum, 3 * 3 * kMs) << r; // (p − 1)(t_f + t_b) on every rank
    }
}

TEST(Fill, WhatIsPlacedInSureBubblesDelaysNothing) {
    const StepTimeline step = simulated(made("1f1b", 4, 8), kMs, 2 * kMs, kMs / 8);
    FillOptions options;
    options.latency = TimeNs{0};
    options.encoder = kMs / 2;
    options.checkpoint = 4 * kMs;
    options.side_job = {kMs / 10, kMs / 3};
    const FillStudy found = study(step, options);
    for (const FilledWork& work : found.works) {
        EXPECT_LE(work.share, 1) << fillKindName(work.kind);
        EXPECT_EQ(work.delay, TimeNs{0}) << fillKindName(work.kind);
    }
    const FilledWork& encoder = workOf(found, FillKind::Encoder);
    EXPECT_EQ(encoder.placed, 8);
    EXPECT_TRUE(encoder.worth);
    EXPECT_EQ(workOf(found, FillKind::Checkpoint).time, 4 * 4 * kMs); // all ranks' weights
}

// Deferring weight gradients into the cool-down is what makes ZB-H1 shorter than 1F1B.
TEST(Fill, DeferredWeightGradientsShortenAStep) {
    const StepTimeline step = simulated(made("1f1b", 4, 8), kMs, 2 * kMs);
    FillOptions options;
    options.margin = 0;
    options.latency = TimeNs{0};
    const FilledWork& work = workOf(study(step, options), FillKind::WeightGradients);
    EXPECT_TRUE(work.worth) << work.reason.text();
    EXPECT_GT(work.gain, TimeNs{0});
    EXPECT_LE(work.gain, 3 * 3 * kMs); // no more than the bubbles
}

TEST(Fill, SaysWhyItIsNotWorthIt) {
    const StepTimeline step = simulated(made("1f1b", 4, 8), kMs, 2 * kMs);
    FillOptions options;
    options.side_job = {100 * kMs};
    const FillStudy too_long = study(step, options);
    EXPECT_FALSE(workOf(too_long, FillKind::SideJob).worth);
    EXPECT_NE(workOf(too_long, FillKind::SideJob).reason.text().find("too short"), std::string::npos);

    // One rank has nearly all the work: moving weight gradients of the others changes nothing.
    CostModel costs;
    const OpTimes small = makeOpTimes(kMs / 10, kMs / 5, {}, {}).value();
    costs.stages = {makeOpTimes(kMs, 2 * kMs, {}, {}).value(), small};
    const StepTimeline bound = simulate(made("1f1b", 2, 16), costs).value();
    const FilledWork& moved = workOf(study(bound, FillOptions{}), FillKind::WeightGradients);
    EXPECT_FALSE(moved.worth);
    EXPECT_NE(moved.reason.text().find("not the bottleneck"), std::string::npos) << moved.reason.text();

    const StepTimeline full = simulated(made("1f1b", 1, 8), kMs, 2 * kMs);
    for (const FilledWork& work : study(full, FillOptions{}).works)
        EXPECT_FALSE(work.worth);
}

TEST(Fill, KeepsToTheMemory) {
    const Schedule schedule = made("1f1b", 2, 4);
    const StepTimeline step = simulated(schedule, kMs, 2 * kMs);
    FillOptions options;
    options.side_job = {kMs / 10};
    options.side_bytes = 100;
    MemoryModel model;
    model.stages.assign(2, StageMemory{.activations = {10, 5, 5}});
    options.memory = model;
    options.budget = 20; // rank 0 holds two micro-batches, which leaves nothing
    const FilledWork none = workOf(study(step, options), FillKind::SideJob);
    EXPECT_EQ(none.placed, 0);
    EXPECT_NE(none.reason.text().find("memory"), std::string::npos) << none.reason.text();
    const FillStudy tight = study(step, options);
    for (const FilledBubble& filled : workOf(tight, FillKind::WeightGradients).bubbles)
        EXPECT_NE(tight.bubbles[filled.bubble].rank, Rank{0}) << "it has no byte to keep tensors in";
    options.budget = 1000;
    EXPECT_GT(workOf(study(step, options), FillKind::SideJob).placed, 0);
    options.memory->stages.pop_back();
    const StepTimeline* const only = &step;
    EXPECT_FALSE(studyFill({&only, 1}, step, options).ok());
}

// A bubble that is missing in one step of five is not certain; if only a few steps do not have it, these become longer.
TEST(Fill, CountsOnWhatNineOfTenStepsHave) {
    const Schedule schedule = made("1f1b", 2, 4);
    std::vector<StepTimeline> steps;
    for (int i = 0; i < 10; ++i)
        steps.push_back(simulated(schedule, kMs, i < 2 ? kMs : 4 * kMs));
    std::vector<const StepTimeline*> all;
    for (const StepTimeline& step : steps)
        all.push_back(&step);
    FillOptions options;
    options.side_job = {kMs / 10};
    const auto found = studyFill(all, steps.back(), options);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found.value().steps, 10);
    for (const FillBubble& bubble : found.value().bubbles)
        EXPECT_LT(bubble.sure, bubble.mean + TimeNs{1});
    EXPECT_EQ(workOf(found.value(), FillKind::SideJob).delay, TimeNs{0});
}

} // namespace
} // namespace bubblescope
