#pragma once

#include "core/graph/simulate.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/comm/inproc/in_process_transport.h"
#include "runtime/engine/engine.h"
#include "tests/unit/runtime/fake_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {

/// The time of the fake host advances with any rank that sleeps, so other ranks can appear late without being late.
constexpr TimeNs kForgiving = std::chrono::hours(10);

inline CostModel someTimes(TimeNs comm) {
    CostModel costs;
    costs.times.forward = TimeNs{5'000'000};
    costs.times.backward = TimeNs{10'000'000};
    costs.times.input_grad = TimeNs{6'000'000};
    costs.times.weight_grad = TimeNs{4'000'000};
    costs.comm = comm;
    return costs;
}

/// A run of the engine on a fake host, and what its ranks recorded.
struct EngineRun : EngineConfig {
    EngineRun(Schedule s, CostModel c) {
        schedule = std::move(s);
        times = std::move(c);
        steps = 2;
        pace_tolerance = kForgiving;
        model.width = 4;
        model.heads = 1;
        model.sequence = 4;
        make_stage = [this](const StageTask& task) { return makeCpuStage(model, task); };
    }

    Result<EngineResult> run() {
        const int ranks = schedule.pp * replicas * tensor_ranks;
        for (int r = 0; r < ranks; ++r)
            rings.push_back(std::make_unique<profiler::RecordRing>(ring_slots));
        InProcessTransports transports(ranks, clock, std::nullopt);
        AttachHook hook;
        if (attach) {
            Result<AttachHook> made = attach(ranks);
            if (!made.ok()) return std::move(made).error();
            hook = std::move(made).value();
        }
        EngineParts parts{.clock = clock,
                          .make_stage = make_stage,
                          .devices = devices,
                          .ranks = transports.ends(),
                          .after_step = after_step,
                          .attach = std::move(hook)};
        for (const auto& ring : rings)
            parts.rings.push_back(ring.get());
        Result<EngineResult> result = runEngine(*this, parts, control);
        for (const auto& ring : rings)
            ring->drain(records.emplace_back());
        return result;
    }

    std::size_t ring_slots = 1 << 12;
    std::function<Result<AttachHook>(int ranks)> attach; ///< creates the hooks of the ranks; empty = none
    ModelConfig model;
    StageFactory make_stage;
    std::optional<EngineParts::Devices> devices;
    std::function<Status()> after_step;
    FakeClock clock;
    JobControl control;
    std::vector<std::unique_ptr<profiler::RecordRing>> rings;
    std::vector<std::vector<profiler::SliceRecord>> records; ///< by global rank
};

using OpRow = std::tuple<Op, std::int64_t, std::int64_t>;
using CommRow = std::tuple<CommKind, Payload, Microbatch, std::int32_t, Stage, Rank, std::int64_t, std::int64_t>;

inline CommRow rowOf(const CommSpan& span, TimeNs origin) {
    return {span.kind,
            span.payload,
            span.microbatch,
            span.sequence,
            span.stage,
            span.peer,
            (span.start - origin).count(),
            (span.end - origin).count()};
}

/// Start of a step, which is the start of its first op on any rank.
inline TimeNs beginOf(const EngineRun& run, int step) {
    TimeNs begin = TimeNs::max();
    for (const auto& rank : run.records) {
        for (const profiler::SliceRecord& record : rank) {
            if (record.step == step && record.category == profiler::SliceRecord::Category::Op)
                begin = std::min(begin, record.start);
        }
    }
    return begin;
}

/// Every step of the run must match the simulator to the nanosecond.
inline void expectEqualsSimulation(const EngineRun& run) {
    const Result<StepTimeline> simulated = simulate(run.schedule, run.times);
    ASSERT_TRUE(simulated.ok()) << simulated.error().text();
    for (int step = 0; step < run.steps; ++step) {
        const TimeNs origin = beginOf(run, step);
        for (std::size_t r = 0; r < run.records.size(); ++r) {
            std::vector<OpRow> ops;
            std::vector<CommRow> comm;
            for (const profiler::SliceRecord& record : run.records[r]) {
                if (record.step != step || record.kind == OpKind::Optimizer) continue;
                if (record.category != profiler::SliceRecord::Category::Op) {
                    comm.push_back(rowOf(record.asComm(), origin));
                    continue;
                }
                ops.emplace_back(record.asOp().op, (record.start - origin).count(), (record.end - origin).count());
            }
            std::vector<OpRow> expected_ops;
            for (const TimelineOp& op : simulated.value().ranks[r])
                if (op.op.kind != OpKind::Optimizer) expected_ops.emplace_back(op.op, op.start.count(), op.end.count());
            EXPECT_EQ(ops, expected_ops) << "rank " << r << ", step " << step;
            std::vector<CommRow> expected_comm;
            for (const CommSpan& span : simulated.value().comm[r])
                expected_comm.push_back(rowOf(span, TimeNs{0}));
            std::sort(comm.begin(), comm.end());
            std::sort(expected_comm.begin(), expected_comm.end());
            EXPECT_EQ(comm, expected_comm) << "rank " << r << ", step " << step;
        }
    }
}

} // namespace bubblescope::runtime::test
