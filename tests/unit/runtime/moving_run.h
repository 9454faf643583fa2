#pragma once

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/comm/inproc/in_process_transport.h"
#include "runtime/run.h"
#include "tests/unit/runtime/engine_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <vector>

// Runs in which stages or weights move from rank to rank. `run` is called with EngineParts and a JobControl.

namespace bubblescope::runtime::test {

/// Two paced steps on a fake host must take the simulation's times, to the nanosecond.
template <class Run>
void expectTheStep(const RunConfig& config, const StepTimeline& expected, Run run) {
    FakeClock clock;
    InProcessTransports transports(config.schedule.pp, clock, std::nullopt);
    const EngineParts parts{.clock = clock,
                            .make_stage = [&](const StageTask& task) { return makeCpuStage(config.model, task); },
                            .ranks = transports.ends()};
    JobControl control;
    const Result<MovingRunResult> ran = run(parts, control);
    ASSERT_TRUE(ran.ok()) << ran.error().text();
    EXPECT_EQ(ran.value().engine.late_ops, 0);
    EXPECT_EQ(ran.value().walls, std::vector(2, expected.wall()));
    const StepTimeline& last = ran.value().last;
    EXPECT_EQ(last.index, 1);
    ASSERT_EQ(last.ranks.size(), expected.ranks.size());
    for (std::size_t r = 0; r < last.ranks.size(); ++r) {
        ASSERT_EQ(last.ranks[r].size(), expected.ranks[r].size());
        for (std::size_t i = 0; i < last.ranks[r].size(); ++i) {
            EXPECT_EQ(last.ranks[r][i].op, expected.ranks[r][i].op);
            EXPECT_EQ(last.ranks[r][i].start - last.begin, expected.ranks[r][i].start);
            EXPECT_EQ(last.ranks[r][i].end - last.begin, expected.ranks[r][i].end);
        }
    }
}

/// If a rank fails to make a stage for which `fails(task)`, the run must end with an error that names a rank.
template <class Fails, class Run>
void expectAFailedRank(const RunConfig& config, Fails fails, Run run) {
    MonotonicClock clock;
    InProcessTransports transports(config.schedule.pp, clock, TimeNs{60'000'000'000});
    const EngineParts parts{.clock = clock,
                            .make_stage = [&](const StageTask& task) -> std::unique_ptr<StageModel> {
                                if (fails(task)) throw std::bad_alloc();
                                return makeCpuStage(config.model, task);
                            },
                            .ranks = transports.ends()};
    JobControl control;
    const Result<MovingRunResult> ran = run(parts, control);
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().kind, ErrorKind::Run);
    EXPECT_THAT(ran.error().text(), ::testing::HasSubstr("rank"));
}

} // namespace bubblescope::runtime::test
