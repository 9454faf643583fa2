#include "runtime/engine/engine.h"

#include "core/simulate/simulate.h"
#include "runtime/model/mlp_stage.h"
#include "tests/unit/runtime/fake_clock.h"
#include "tests/unit/runtime/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;
using profiler::RecordRing;
using profiler::SliceRecord;
using test::FakeClock;
using ::testing::HasSubstr;

/// The fake host's time runs ahead with whichever rank sleeps, so others look late without meaning.
constexpr TimeNs kForgiving = std::chrono::hours(10);

CostModel someTimes(TimeNs comm) {
    CostModel costs;
    costs.times.forward = 5ms;
    costs.times.backward = 10ms;
    costs.times.input_grad = 6ms;
    costs.times.weight_grad = 4ms;
    costs.comm = comm;
    return costs;
}

/// A run of the engine on a fake host, and what its ranks recorded.
struct EngineRun {
    EngineRun(Schedule s, CostModel c) : schedule(std::move(s)), costs(std::move(c)) {
        for (int r = 0; r < schedule.pp; ++r)
            rings.push_back(std::make_unique<RecordRing>(1 << 12));
        model.width = 4;
        model.rows = 2;
        make_stage = [this](Stage stage) {
            return std::make_unique<MlpStage>(model, stage, schedule.stages(), schedule.microbatches);
        };
    }

    Result<EngineResult> run() {
        EngineConfig config{.schedule = schedule,
                            .times = costs,
                            .steps = steps,
                            .pace_tolerance = tolerance,
                            .clock = clock,
                            .make_stage = make_stage,
                            .rings = {},
                            .after_step = after_step};
        for (const auto& ring : rings)
            config.rings.push_back(ring.get());
        Result<EngineResult> result = runEngine(config, control);
        for (const auto& ring : rings)
            ring->drain(records.emplace_back());
        return result;
    }

    Schedule schedule;
    CostModel costs;
    int steps = 2;
    std::optional<TimeNs> tolerance = kForgiving;
    ModelConfig model;
    StageFactory make_stage;
    std::function<Status()> after_step;
    FakeClock clock;
    JobControl control;
    std::vector<std::unique_ptr<RecordRing>> rings;
    std::vector<std::vector<SliceRecord>> records; ///< by rank
};

using OpRow = std::tuple<Op, std::int64_t, std::int64_t>;
using CommRow = std::tuple<CommKind, Payload, Microbatch, Stage, Rank, std::int64_t, std::int64_t>;

CommRow rowOf(const CommSpan& span, TimeNs origin) {
    return {span.kind,
            span.payload,
            span.microbatch,
            span.stage,
            span.peer,
            (span.start - origin).count(),
            (span.end - origin).count()};
}

/// Begin of a step: that of its first op anywhere.
TimeNs beginOf(const EngineRun& run, int step) {
    TimeNs begin = TimeNs::max();
    for (const auto& rank : run.records) {
        for (const SliceRecord& record : rank) {
            if (record.step == step && record.category == SliceRecord::Category::Op)
                begin = std::min(begin, record.start);
        }
    }
    return begin;
}

/// Every step of the run must be what the simulator says, to the nanosecond.
void expectEqualsSimulation(const EngineRun& run) {
    const Result<StepTimeline> simulated = simulate(run.schedule, run.costs);
    ASSERT_TRUE(simulated.ok()) << simulated.error().text();
    for (int step = 0; step < run.steps; ++step) {
        const TimeNs origin = beginOf(run, step);
        for (std::size_t r = 0; r < run.records.size(); ++r) {
            std::vector<OpRow> ops;
            std::vector<CommRow> comm;
            for (const SliceRecord& record : run.records[r]) {
                if (record.step != step || record.kind == OpKind::Optimizer) continue;
                if (record.category != SliceRecord::Category::Op) {
                    comm.push_back(rowOf(record.asComm(), origin));
                    continue;
                }
                ops.emplace_back(record.asOp().op, (record.start - origin).count(), (record.end - origin).count());
            }
            std::vector<OpRow> expected_ops;
            for (const TimelineOp& op : simulated.value().ranks[r])
                expected_ops.emplace_back(op.op, op.start.count(), op.end.count());
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

class EngineOnSchedules : public ::testing::TestWithParam<Schedule> {};

TEST_P(EngineOnSchedules, PacedRunEqualsSimulation) {
    for (const TimeNs comm : {TimeNs{0}, TimeNs{1'500'000}}) {
        EngineRun run(GetParam(), someTimes(comm));
        const Result<EngineResult> result = run.run();
        ASSERT_TRUE(result.ok()) << result.error().text();
        EXPECT_EQ(result.value().late_ops, 0);
        expectEqualsSimulation(run);
    }
}

INSTANTIATE_TEST_SUITE_P(All, EngineOnSchedules,
                         ::testing::Values(test::scheduleOf("fthenb", 4, 6), test::scheduleOf("1f1b", 4, 8),
                                           test::scheduleOf("1f1b", 1, 3), test::scheduleOf("1f1b", 5, 2),
                                           test::scheduleOf("interleaved", 2, 4, 3),
                                           test::scheduleOf("interleaved", 4, 8, 2), test::vShaped(3, 4),
                                           test::withDelayedWeightGradients(test::scheduleOf("1f1b", 3, 5))),
                         [](const auto& param_info) { return "order" + std::to_string(param_info.index); });

TEST(Engine, StepOf1F1BTakes165Milliseconds) {
    EngineRun run(test::scheduleOf("1f1b", 4, 8), someTimes(0ms));
    ASSERT_TRUE(run.run().ok());
    TimeNs end{0};
    for (const auto& rank : run.records) {
        for (const SliceRecord& record : rank) {
            if (record.step == 0 && record.kind != OpKind::Optimizer) end = std::max(end, record.end);
        }
    }
    EXPECT_EQ(end - beginOf(run, 0), 165ms);
}

TEST(Engine, OptimizerWaitsForAllGradientsAndEndsTheStepForAll) {
    for (const TimeNs optimizer : {0ms, 3ms}) {
        EngineRun run(test::scheduleOf("1f1b", 3, 4), someTimes(1ms));
        run.costs.times.optimizer = optimizer;
        run.steps = 3;
        ASSERT_TRUE(run.run().ok());
        for (int step = 0; step < run.steps; ++step) {
            TimeNs gradients{0}, optimizer_end{0}, optimizer_begin = TimeNs::max();
            int optimizers = 0;
            for (const auto& rank : run.records) {
                for (const SliceRecord& record : rank) {
                    if (record.step != step || record.category != SliceRecord::Category::Op) continue;
                    if (record.kind != OpKind::Optimizer) {
                        gradients = std::max(gradients, record.end);
                        continue;
                    }
                    ++optimizers;
                    optimizer_begin = std::min(optimizer_begin, record.start);
                    optimizer_end = std::max(optimizer_end, record.end);
                    if (optimizer > 0ms) {
                        EXPECT_EQ(record.end - record.start, optimizer);
                    }
                }
            }
            EXPECT_EQ(optimizers, 3);
            EXPECT_GE(optimizer_begin, gradients);
            if (optimizer > 0ms) {
                EXPECT_EQ(optimizer_begin, gradients);
            }
            if (step + 1 < run.steps) {
                EXPECT_EQ(beginOf(run, step + 1), optimizer_end);
            }
        }
    }
}

TEST(Engine, CountsOpsAndLateOnes) {
    EngineRun run(test::scheduleOf("1f1b", 1, 4), someTimes(0ms));
    run.tolerance = 2ms;
    int calls = 0;
    run.make_stage = [&](Stage stage) {
        // One forward of the first step takes the host 9 ms instead of 5.
        struct Slow final : StageModel {
            Slow(std::unique_ptr<StageModel> m, FakeClock& c, int& n) : model(std::move(m)), clock(c), count(n) {}
            Tensor forward(Microbatch mb, Tensor input) override {
                if (++count == 2) clock.advance(9ms);
                return model->forward(mb, std::move(input));
            }
            Tensor backwardInput(Microbatch mb, Tensor grad) override {
                return model->backwardInput(mb, std::move(grad));
            }
            void backwardWeight(Microbatch mb) override { model->backwardWeight(mb); }
            void applyGradients() override { model->applyGradients(); }
            double takeLoss() override { return model->takeLoss(); }
            std::uint64_t digest(std::uint64_t hash) const override { return model->digest(hash); }
            std::unique_ptr<StageModel> model;
            FakeClock& clock;
            int& count;
        };
        return std::make_unique<Slow>(std::make_unique<MlpStage>(run.model, stage, 1, 4), run.clock, calls);
    };
    const Result<EngineResult> result = run.run();
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result.value().ops, 2 * (8 + 1));
    EXPECT_EQ(result.value().late_ops, 1);
    EXPECT_EQ(result.value().max_lateness, 4ms);
    EXPECT_EQ(run.control.done.load(), 18U);
    EXPECT_EQ(run.control.total.load(), 18U);
}

/// Fails at one op, on the rank that holds the stage.
class FailingStage final : public StageModel {
public:
    explicit FailingStage(bool fails) : fails_(fails) {}
    Tensor forward(Microbatch, Tensor) override { return {}; }
    Tensor backwardInput(Microbatch microbatch, Tensor) override {
        if (fails_ && microbatch == Microbatch{2}) throw std::runtime_error("out of luck");
        return {};
    }
    void backwardWeight(Microbatch) override {}
    void applyGradients() override {}
    double takeLoss() override { return 0.0; }
    std::uint64_t digest(std::uint64_t hash) const override { return hash; }

private:
    bool fails_;
};

TEST(Engine, AFailingRankEndsAllAndIsNamedWithItsOp) {
    for (const std::optional<TimeNs> tolerance : {std::optional<TimeNs>(kForgiving), std::optional<TimeNs>()}) {
        EngineRun run(test::scheduleOf("1f1b", 4, 8), someTimes(0ms));
        run.tolerance = tolerance;
        run.make_stage = [](Stage stage) { return std::make_unique<FailingStage>(stage == Stage{1}); };
        const Result<EngineResult> result = run.run();
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().kind, ErrorKind::Run);
        EXPECT_THAT(result.error().message, HasSubstr("rank 1, B2.0 of step 0"));
        EXPECT_THAT(result.error().message, HasSubstr("out of luck"));
        EXPECT_FALSE(run.records[3].empty()) << "what was recorded until then is there";
    }
}

TEST(Engine, AStageThatCannotBeBuiltIsNamed) {
    EngineRun run(test::scheduleOf("1f1b", 3, 3), someTimes(0ms));
    run.make_stage = [](Stage stage) -> std::unique_ptr<StageModel> {
        if (stage == Stage{2}) throw std::bad_alloc();
        return std::make_unique<FailingStage>(false);
    };
    const Result<EngineResult> result = run.run();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::Run);
    EXPECT_THAT(result.error().message, HasSubstr("rank 2"));
}

TEST(Engine, StopsBetweenOpsWhenAsked) {
    EngineRun run(test::scheduleOf("1f1b", 2, 4), someTimes(0ms));
    std::stop_source source;
    run.control.stop = source.get_token();
    run.steps = 1000;
    int steps_done = 0;
    run.after_step = [&]() -> Status {
        if (++steps_done == 2) source.request_stop();
        return {};
    };
    const Result<EngineResult> result = run.run();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::Cancelled);
    EXPECT_LE(steps_done, 3);
}

TEST(Engine, AnErrorAfterAStepEndsTheRun) {
    EngineRun run(test::scheduleOf("1f1b", 2, 4), someTimes(0ms));
    run.steps = 1000;
    run.after_step = []() -> Status { return runError("disk full"); };
    const Result<EngineResult> result = run.run();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, "disk full");
}

TEST(Engine, UnpacedTimesAreTheHosts) {
    EngineRun run(test::scheduleOf("interleaved", 2, 4, 2), someTimes(5ms));
    run.tolerance.reset();
    const Result<EngineResult> result = run.run();
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(run.clock.sleeps(), 0);
    EXPECT_EQ(result.value().max_lateness, 0ms);
    for (const auto& rank : run.records) {
        for (const SliceRecord& record : rank)
            EXPECT_EQ(record.end, run.clock.now()) << "the fake host's time stood still";
    }
}

} // namespace
} // namespace bubblescope::runtime
