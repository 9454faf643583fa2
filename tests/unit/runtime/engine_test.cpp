#include "runtime/engine/engine.h"

#include "tests/unit/runtime/engine_run.h"
#include "tests/unit/runtime/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;
using profiler::SliceRecord;
using test::EngineRun;
using test::FakeClock;
using test::someTimes;
using ::testing::HasSubstr;

class EngineOnSchedules : public ::testing::TestWithParam<Schedule> {};

TEST_P(EngineOnSchedules, PacedRunEqualsSimulation) {
    for (const TimeNs comm : {TimeNs{0}, TimeNs{1'500'000}}) {
        EngineRun run(GetParam(), someTimes(comm));
        const Result<EngineResult> result = run.run();
        ASSERT_TRUE(result.ok()) << result.error().text();
        EXPECT_EQ(result.value().late_ops, 0);
        test::expectEqualsSimulation(run);
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
    EXPECT_EQ(end - test::beginOf(run, 0), 165ms);
}

TEST(Engine, OptimizerWaitsForAllGradientsAndEndsTheStepForAll) {
    for (const TimeNs optimizer : {0ms, 3ms}) {
        EngineRun run(test::scheduleOf("1f1b", 3, 4), someTimes(1ms));
        run.times.times.optimizer = optimizer;
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
                EXPECT_EQ(test::beginOf(run, step + 1), optimizer_end);
            }
        }
    }
}

TEST(Engine, CountsOpsAndLateOnes) {
    EngineRun run(test::scheduleOf("1f1b", 1, 4), someTimes(0ms));
    run.pace_tolerance = 2ms;
    int calls = 0;
    run.make_stage = [&](const StageTask& task) {
        // One forward of the first step takes the host 9 ms instead of 5.
        struct Slow final : StageModel {
            Slow(std::unique_ptr<StageModel> m, FakeClock& c, int& n) : model(std::move(m)), clock(c), count(n) {}
            Tensor forward(Piece piece, Tensor input) override {
                if (++count == 2) clock.advance(9ms);
                return model->forward(piece, std::move(input));
            }
            Tensor backwardInput(Piece piece, Tensor grad) override {
                return model->backwardInput(piece, std::move(grad));
            }
            void backwardWeight(Piece piece) override { model->backwardWeight(piece); }
            Tensor takeGradient() override { return model->takeGradient(); }
            void applyGradient(const Tensor& sum) override { model->applyGradient(sum); }
            double takeLoss() override { return model->takeLoss(); }
            MemoryUse memory() const override { return model->memory(); }
            std::uint64_t digest(std::uint64_t hash) const override { return model->digest(hash); }
            std::unique_ptr<StageModel> model;
            FakeClock& clock;
            int& count;
        };
        return std::make_unique<Slow>(makeCpuStage(run.model, task), run.clock, calls);
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
    Tensor forward(Piece, Tensor) override { return {}; }
    Tensor backwardInput(Piece piece, Tensor) override {
        if (fails_ && piece.sample == Microbatch{2}) throw std::runtime_error("out of luck");
        return {};
    }
    void backwardWeight(Piece) override {}
    Tensor takeGradient() override { return {}; }
    void applyGradient(const Tensor&) override {}
    double takeLoss() override { return 0.0; }
    MemoryUse memory() const override { return {}; }
    std::uint64_t digest(std::uint64_t hash) const override { return hash; }

private:
    bool fails_;
};

TEST(Engine, AFailingRankEndsAllAndIsNamedWithItsOp) {
    for (const bool paced : {true, false}) {
        EngineRun run(test::scheduleOf("1f1b", 4, 8), someTimes(0ms));
        run.paced = paced;
        run.make_stage = [](const StageTask& task) { return std::make_unique<FailingStage>(task.place == 1); };
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
    run.make_stage = [](const StageTask& task) -> std::unique_ptr<StageModel> {
        if (task.place == 2) throw std::bad_alloc();
        return std::make_unique<FailingStage>(false);
    };
    const Result<EngineResult> result = run.run();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::Run);
    EXPECT_THAT(result.error().message, HasSubstr("rank 2"));
}

TEST(Engine, APairIsOneOpWithTheInputsOfBothAndEachOutputGoesOutAtOnce) {
    // Rank 1 runs F1 and B0 as a pair; its forward takes the host a while, its backward too.
    Schedule schedule = test::scheduleOf("fthenb", 2, 2);
    schedule.ranks[1] = {{OpKind::Forward, Microbatch{0}, Chunk{0}},
                         {OpKind::Backward, Microbatch{0}, Chunk{0}, 0, true},
                         {OpKind::Forward, Microbatch{1}, Chunk{0}, 0, true},
                         {OpKind::Backward, Microbatch{1}, Chunk{0}}};
    for (const std::optional<TimeNs> overlapped : {std::optional<TimeNs>(12ms), std::optional<TimeNs>()}) {
        EngineRun run(schedule, someTimes(1ms));
        run.times.overlapped = overlapped;
        run.steps = 1;
        ASSERT_TRUE(run.run().ok());
        test::expectEqualsSimulation(run);
        std::vector<SliceRecord> pair;
        for (const SliceRecord& record : run.records[1]) {
            if (record.overlapped) pair.push_back(record);
        }
        ASSERT_EQ(pair.size(), 2U);
        EXPECT_EQ(pair[0].kind, OpKind::Backward) << "in the order of the list";
        EXPECT_EQ(pair[0].start, pair[1].start);
        EXPECT_EQ(pair[0].end, pair[1].end);
        EXPECT_EQ(pair[0].end - pair[0].start, overlapped.value_or(15ms));
    }
}

TEST(Engine, AnUnpacedPairSendsItsFirstOutputBeforeItsSecondIsDone) {
    Schedule schedule = test::scheduleOf("fthenb", 2, 2);
    schedule.ranks[1] = {{OpKind::Forward, Microbatch{0}, Chunk{0}},
                         {OpKind::Backward, Microbatch{0}, Chunk{0}, 0, true},
                         {OpKind::Forward, Microbatch{1}, Chunk{0}, 0, true},
                         {OpKind::Backward, Microbatch{1}, Chunk{0}}};
    EngineRun run(schedule, someTimes(0ms));
    run.paced = false;
    run.steps = 1;
    // The last rank's forwards take 7 ms of the host's time, the rest none.
    run.make_stage = [&](const StageTask& task) -> std::unique_ptr<StageModel> {
        struct Slow final : StageModel {
            explicit Slow(FakeClock* c) : clock(c) {}
            Tensor forward(Piece, Tensor) override {
                if (clock != nullptr) clock->advance(7ms);
                return HostMatrix(1, 1);
            }
            Tensor backwardInput(Piece, Tensor) override { return HostMatrix(1, 1); }
            void backwardWeight(Piece) override {}
            Tensor takeGradient() override { return {}; }
            void applyGradient(const Tensor&) override {}
            double takeLoss() override { return 0.0; }
            MemoryUse memory() const override { return {}; }
            std::uint64_t digest(std::uint64_t hash) const override { return hash; }
            FakeClock* clock;
        };
        return std::make_unique<Slow>(task.place == 1 ? &run.clock : nullptr);
    };
    ASSERT_TRUE(run.run().ok());
    TimeNs sent{0}, pair_end{0};
    for (const SliceRecord& record : run.records[1]) {
        const bool first_gradient = record.category == SliceRecord::Category::Send && record.microbatch.value == 0;
        if (first_gradient) sent = record.start;
        if (record.overlapped) pair_end = record.end;
    }
    EXPECT_EQ(pair_end - sent, 7ms);
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
    run.paced = false;
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
