// Ranks that share each stage: the same maths as whole stages, the same bits with every schedule, and the records of
// the sums in the trace.

#include "core/analysis/steps/run_analyzer.h"
#include "core/recognise/run.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/model/gpt_stage.h"
#include "runtime/model/stage_layout.h"
#include "tests/support/reference_model.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/runtime/engine_run.h"
#include "tests/unit/runtime/schedules.h"
#include "tests/unit/runtime/trained_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <map>
#include <random>
#include <thread>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using M = Matrix<double>;
using Parts = BlockParts;

// ---- One block of the stage in the middle, against the reference model in double precision

constexpr int kWidth = 12;
constexpr int kHeads = 6;
constexpr int kTokens = 5;

ModelConfig blockModel() {
    ModelConfig model;
    model.width = kWidth;
    model.heads = kHeads;
    model.sequence = kTokens;
    return model;
}

/// Threads that add up what they have, in their order.
class Meeting {
public:
    explicit Meeting(int ranks) : parts_(static_cast<std::size_t>(ranks)), barrier_(ranks) {}

    class End final : public ShardSums {
    public:
        End(Meeting& meeting, std::size_t rank) : meeting_(meeting), rank_(rank) {}
        [[nodiscard]] Tensor addUp(Tensor part) override {
            meeting_.parts_[rank_] = std::move(part);
            meeting_.barrier_.arrive_and_wait();
            Tensor sum = meeting_.parts_.front();
            for (std::size_t r = 1; r < meeting_.parts_.size(); ++r)
                sum += meeting_.parts_[r];
            meeting_.barrier_.arrive_and_wait();
            return sum;
        }

    private:
        Meeting& meeting_;
        std::size_t rank_;
    };

private:
    std::vector<Tensor> parts_;
    std::barrier<> barrier_;
};

struct BlockRun {
    HostMatrix output;
    HostMatrix input_grad;
    std::vector<HostMatrix> weight_grads; ///< by rank
};

/// Each part's weights, column by column, then its biases.
std::vector<float> flat(const reference::Parameters<double>& parts) {
    std::vector<float> values;
    for (const reference::Weights<double>& part : parts) {
        for (const double weight : part.weight.reshaped())
            values.push_back(static_cast<float>(weight));
        for (const double bias : part.bias)
            values.push_back(static_cast<float>(bias));
    }
    return values;
}

BlockRun runBlock(const std::vector<reference::Parameters<double>>& shards, const M& input, const M& output_grad) {
    const auto ranks = static_cast<int>(shards.size());
    const Piece piece{Microbatch{0}};
    Meeting meeting(ranks);
    std::vector<BlockRun> runs(shards.size());
    {
        std::vector<std::jthread> threads;
        for (std::size_t r = 0; r < shards.size(); ++r) {
            threads.emplace_back([&, r] {
                Meeting::End sums(meeting, r);
                StageTask task{1, 3, {piece}};
                task.shard = {ranks, static_cast<int>(r), ranks > 1 ? &sums : nullptr};
                GptStage<float> stage(makeCpuQueue(), blockModel(), task);
                stage.parameters().fromHost(flat(shards[r]));
                runs[r].output = stage.forward(piece, toHostMatrix(input.cast<float>())).host();
                runs[r].input_grad = stage.backwardInput(piece, toHostMatrix(output_grad.cast<float>())).host();
                stage.backwardWeight(piece);
                runs[r].weight_grads.push_back(stage.takeGradient().host());
            });
        }
    }
    for (std::size_t r = 1; r < runs.size(); ++r) {
        EXPECT_EQ(runs[r].output, runs[0].output) << "all ranks have the same bits";
        EXPECT_EQ(runs[r].input_grad, runs[0].input_grad);
        runs[0].weight_grads.push_back(std::move(runs[r].weight_grads.front()));
    }
    return std::move(runs[0]);
}

/// For numbers that a float represents exactly.
M randomMatrix(std::mt19937& random, double size, Eigen::Index rows, Eigen::Index columns) {
    std::normal_distribution<double> normal(0, size);
    return M::NullaryExpr(rows, columns, [&] { return normal(random); }).cast<float>().cast<double>();
}

reference::Parameters<double> randomBlock() {
    std::mt19937 random(7);
    const auto fill = [&](Eigen::Index rows, Eigen::Index columns) {
        return reference::Weights<double>{randomMatrix(random, 0.5, rows, columns),
                                          randomMatrix(random, 0.5, 1, columns).row(0)};
    };
    return {fill(1, kWidth), fill(kWidth, 3 * kWidth), fill(kWidth, kWidth),
            fill(1, kWidth), fill(kWidth, 4 * kWidth), fill(4 * kWidth, kWidth)};
}

M columnsOf(const M& whole, int groups, int ranks, int rank) {
    const Eigen::Index group = whole.cols() / groups;
    const Eigen::Index own = group / ranks;
    M part(whole.rows(), groups * own);
    for (int g = 0; g < groups; ++g)
        part.middleCols(g * own, own) = whole.middleCols(g * group + rank * own, own);
    return part;
}

/// The share of a rank, written down apart from the model.
reference::Parameters<double> fractionOf(const reference::Parameters<double>& whole, int ranks, int rank) {
    reference::Parameters<double> share = whole;
    for (const auto& [part, groups] : {std::pair{Parts::kQkv, 3}, {Parts::kFc1, 1}}) {
        share[part].weight = columnsOf(whole[part].weight, groups, ranks, rank);
        share[part].bias = columnsOf(whole[part].bias, groups, ranks, rank).row(0);
    }
    for (const auto part : {Parts::kProjection, Parts::kFc2}) {
        const Eigen::Index rows = whole[part].weight.rows() / ranks;
        share[part].weight = whole[part].weight.middleRows(rank * rows, rows);
    }
    return share;
}

double furthest(const HostMatrix& values, const M& expected) {
    return (toEigen(values).cast<double>() - expected).cwiseAbs().maxCoeff();
}

TEST(TensorParallelBlock, ComputesWhatTheWholeBlockDoes) {
    const reference::Parameters<double> whole = randomBlock();
    std::mt19937 random(1);
    const M input = randomMatrix(random, 1, kTokens, kWidth);
    const M output_grad = randomMatrix(random, 1, kTokens, kWidth);
    const reference::Block block(whole, {1, kHeads});
    reference::Block::Saved saved;
    const M output = block.forward(input, {}, saved);
    const M input_grad = block.backwardInput(output_grad, {}, saved);
    const reference::Parameters<double> weight_grads = block.backwardWeight(saved);
    for (const int ranks : {1, 2, 3, 6}) {
        std::vector<reference::Parameters<double>> shares;
        for (int rank = 0; rank < ranks; ++rank)
            shares.push_back(fractionOf(whole, ranks, rank));
        const BlockRun run = runBlock(shares, input, output_grad);
        constexpr double kBound = 5e-5; // of values of some tens at most, in float
        EXPECT_LT(furthest(run.output, output), kBound) << ranks;
        EXPECT_LT(furthest(run.input_grad, input_grad), kBound) << ranks;
        for (int rank = 0; rank < ranks; ++rank) {
            const std::vector<float> expected = flat(fractionOf(weight_grads, ranks, rank));
            EXPECT_LT(furthest(run.weight_grads[static_cast<std::size_t>(rank)], toColumn(expected).cast<double>()),
                      kBound)
                << ranks << " ranks, rank " << rank;
        }
    }
}

// ---- Whole runs

RunConfig configOf(Schedule schedule, int tensor_ranks) {
    RunConfig config;
    config.schedule = std::move(schedule);
    config.model.width = 12;
    config.model.heads = 6;
    config.model.sequence = 6;
    config.model.layers_per_stage = 2;
    config.steps = 3;
    config.paced = false;
    config.tensor_ranks = tensor_ranks;
    return config;
}

TEST(TensorParallelRun, TrainsTheReferencesWeightsInAllMeshes) {
    for (const int tensor_ranks : {2, 3, 6}) {
        for (const int replicas : {1, 2}) {
            RunConfig config = configOf(test::withDelayedWeightGradients(test::scheduleOf("1f1b", 2, 4)), tensor_ranks);
            config.replicas = replicas;
            config.model.cut = {3, 1}; // uneven
            SCOPED_TRACE("tp " + std::to_string(tensor_ranks) + ", dp " + std::to_string(replicas));
            EXPECT_EQ(test::expectTheReferencesWeights(config).memory.size(),
                      static_cast<std::size_t>(2 * replicas * tensor_ranks));
        }
    }
}

TEST(TensorParallelRun, EverySchedulePipelinesToTheSameBits) {
    const RunSummary one = test::trained(configOf(test::scheduleOf("1f1b", 4, 4), 2));
    for (const Schedule& schedule : {test::scheduleOf("interleaved", 2, 4, 2), test::vShaped(2, 4),
                                     test::scheduleOf("zb-h1", 4, 4), test::scheduleOf("zb-v", 2, 4, 2)}) {
        const RunSummary other = test::trained(configOf(schedule, 2));
        EXPECT_EQ(other.losses, one.losses) << schedule.name;
        EXPECT_EQ(other.weights_digest, one.weights_digest) << schedule.name;
    }
}

/// Sums of other groups of terms: floats differ in the last bits, and training carries them on.
TEST(TensorParallelRun, LossesAreThoseOfWholeStagesWithinABound) {
    RunConfig config = configOf(test::scheduleOf("1f1b", 2, 4), 1);
    config.steps = 20;
    const std::vector<double> whole = test::trained(config).losses;
    for (const int tensor_ranks : {2, 3, 6}) {
        config.tensor_ranks = tensor_ranks;
        const std::vector<double> shared = test::trained(config).losses;
        for (std::size_t step = 0; step < whole.size(); ++step)
            EXPECT_NEAR(shared[step], whole[step], 1e-5 * whole[step]) << "tp " << tensor_ranks << ", step " << step;
    }
}

TEST(TensorParallelRun, RanksHoldTheirShareOfTheMatrices) {
    const RunConfig whole = configOf(test::scheduleOf("1f1b", 3, 6), 1);
    const MemoryUse alone = test::trained(whole).memory[1];
    const std::vector<MemoryUse> memory = test::trained(configOf(test::scheduleOf("1f1b", 3, 6), 3)).memory;
    ASSERT_EQ(memory.size(), 9U);
    // A block of width h: a third of 12 h^2 weights and 7 h biases; two normalisations and two biases completely.
    constexpr std::int64_t kBlock = (12 * 12 * 12 + 7 * 12) / 3 + (4 + 2) * 12;
    for (const std::size_t rank : {3U, 4U, 5U}) {
        EXPECT_EQ(memory[rank].weights, 2 * kBlock * std::int64_t{4});
        EXPECT_EQ(memory[rank].optimizer, 2 * memory[rank].weights);
        EXPECT_LT(memory[rank].activations, alone.activations * 6 / 10);
    }
}

TEST(TensorParallelRun, WhatIsWholeStaysEqualOnAllRanks) {
    test::EngineRun run(test::scheduleOf("1f1b", 2, 3), test::someTimes(0ms));
    run.model.heads = 2;
    run.tensor_ranks = 2;
    run.steps = 4;
    const Result<EngineResult> result = run.run();
    ASSERT_TRUE(result.ok()) << result.error().text();
    ASSERT_EQ(result.value().stages.size(), 2U);
    int whole = 0;
    for (std::size_t s = 0; s < 2; ++s) {
        const auto parametersOf = [&](std::size_t lane) {
            return dynamic_cast<GptStage<float>&>(*result.value().stages[lane][s]).parameters().view();
        };
        const ParameterView<float> one = parametersOf(0);
        const ParameterView<float> other = parametersOf(1);
        const auto equal = [](const float* a, const float* b, std::int64_t count) {
            return std::equal(a, a + count, b);
        };
        const auto layout = stageLayout(run.model, DataPlan(run.schedule).taskOf(Stage{s}));
        for (std::size_t part = 0; part < layout.size(); ++part) {
            const bool equal_weights = equal(one.weight(part), other.weight(part), one.part(part).weightSize());
            EXPECT_EQ(equal_weights, layout[part].cut == PartLayout::Cut::Whole) << "stage " << s << ", part " << part;
            whole += equal_weights ? 1 : 0;
            if (layout[part].cut == PartLayout::Cut::Columns) continue;
            EXPECT_TRUE(equal(one.bias(part), other.bias(part), one.part(part).bias_size))
                << "stage " << s << ", part " << part;
        }
    }
    EXPECT_EQ(whole, 2 + 2 * 2 + 2);
}

TEST(TensorParallelRun, ChecksThatHeadsCanBeShared) {
    RunConfig config = configOf(test::scheduleOf("1f1b", 2, 2), 4);
    JobControl control;
    const auto uneven = runPipeline(config, control);
    ASSERT_FALSE(uneven.ok());
    EXPECT_EQ(uneven.error().kind, ErrorKind::Usage);
    EXPECT_THAT(uneven.error().message, HasSubstr("6 heads cannot be divided among 4"));
    config.tensor_ranks = 0;
    EXPECT_TRUE(test::isRejected(config));
}

// ---- Times

TEST(TensorParallelTimes, SumsMakeOpsLongerByATransferEach) {
    test::EngineRun run(test::scheduleOf("zb-h1", 2, 3), test::someTimes(1ms));
    run.model.heads = 2;
    run.model.layers_per_stage = 2;
    run.tensor_ranks = 2;
    const Result<EngineResult> result = run.run();
    ASSERT_TRUE(result.ok()) << result.error().text();
    for (const auto& records : run.records) {
        std::map<std::tuple<int, OpKind, Microbatch>, std::vector<profiler::SliceRecord>> sums;
        for (const auto& record : records) {
            if (record.category != profiler::SliceRecord::Category::Collective) continue;
            const OpKind kind = record.payload == Payload::Activation ? OpKind::Forward : OpKind::BackwardInput;
            sums[{record.step, kind, record.microbatch}].push_back(record);
        }
        int ops = 0;
        for (const auto& record : records) {
            if (record.category != profiler::SliceRecord::Category::Op || record.kind == OpKind::Optimizer) continue;
            ++ops;
            const TimeNs nominal = run.times.times.of(record.kind);
            const bool adds = record.kind != OpKind::BackwardWeight;
            EXPECT_EQ(record.end - record.start, nominal + (adds ? 4ms : 0ms)) << opName(record.asOp().op);
            EXPECT_EQ(record.exposedComm(), adds ? 4ms : 0ms);
            if (!adds) continue;
            const auto& own = sums[{record.step, record.kind, record.microbatch}];
            ASSERT_EQ(own.size(), 4U) << "two for each block";
            for (std::size_t i = 0; i < own.size(); ++i) {
                const auto k = static_cast<std::int64_t>(i);
                EXPECT_EQ(own[i].start, record.start + nominal * (k + 1) / 4 + k * 1ms);
                EXPECT_EQ(own[i].end - own[i].start, 1ms);
                EXPECT_EQ(own[i].stage, record.stage);
            }
            EXPECT_EQ(own.back().end, record.end);
        }
        EXPECT_EQ(ops, 2 * 3 * 3);
    }
}

TEST(TensorParallelTimes, AllWaitForTheSlowestOfThem) {
    test::EngineRun run(test::scheduleOf("1f1b", 2, 2), test::someTimes(0ms));
    run.model.heads = 2;
    run.tensor_ranks = 2;
    run.faults = {parseFault("slow:rank=1,tp=0,factor=2").value()};
    ASSERT_TRUE(checkFaults(run.faults, run.schedule, run.steps, 2).ok());
    ASSERT_TRUE(run.run().ok());
    for (std::size_t rank = 0; rank < 4; ++rank) {
        for (const auto& record : run.records[rank]) {
            if (record.category != profiler::SliceRecord::Category::Op || record.kind == OpKind::Optimizer) continue;
            const TimeNs nominal = run.times.times.of(record.kind);
            EXPECT_EQ(record.end - record.start, rank >= 2 ? 2 * nominal : nominal);
            EXPECT_EQ(record.exposedComm(), rank == 3 ? nominal : 0ms) << "who is slow waits for nobody";
        }
    }
}

TEST(TensorParallelTimes, AreToldByTheTraceAndAccounted) {
    const bubblescope::test::ScratchFolder dir;
    RunConfig config = configOf(test::scheduleOf("1f1b", 3, 4), 2);
    config.out_dir = dir.path();
    config.replicas = 2;
    EXPECT_EQ(test::trained(config).files.size(), 12U);
    JobControl control;
    Result<bubblescope::Run> loaded = loadRun({dir.path()}, control);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    ASSERT_EQ(loaded.value().problems.size(), 1U);
    EXPECT_EQ(loaded.value().problems.front().kind, "tensor-parallel");
    EXPECT_EQ(loaded.value().problems.front().count, 6) << "half of twelve";
    EXPECT_EQ(loaded.value().info.value().tp, 2);
    EXPECT_EQ(loaded.value().info.value().dp, 2);
    EXPECT_EQ(loaded.value().schedule.name, "1f1b");
    ASSERT_EQ(loaded.value().steps.size(), 6U) << "three of each replica";
    for (const StepTimeline& step : loaded.value().steps) {
        for (std::size_t r = 0; r < 3; ++r) {
            const auto sums =
                std::ranges::count_if(step.comm[r], [](const CommSpan& s) { return s.kind == CommKind::Collective; });
            EXPECT_EQ(sums, 4 * 2 * 4) << "four micro-batches, there and back, two for each of two blocks";
        }
    }
    const auto diagnosed = diagnoseRun(loaded.value());
    ASSERT_TRUE(diagnosed.ok()) << diagnosed.error().text();
    const StepAccounting& account = diagnosed.value().report.accounts.front();
    for (std::size_t r = 0; r < 3; ++r) {
        TimeNs waited{0};
        TimeNs computed{0};
        const StepTimeline& step = loaded.value().steps.front();
        for (const TimelineOp& op : step.ranks[r]) {
            const TimeNs exposed = step.detailsOf(op).exposed_comm;
            waited += exposed;
            if (op.op.kind != OpKind::Optimizer) computed += op.duration() - exposed;
        }
        EXPECT_GT(waited, 0ns);
        EXPECT_EQ(account.ranks[r].compute[0] + account.ranks[r].compute[1], computed);
        EXPECT_EQ(account.ranks[r].total(), loaded.value().steps.front().wall());
    }
}

TEST(TensorParallelTimes, AHangingRankIsNamedAndNotThoseWhoWaitInsideTheOp) {
    RunConfig config = configOf(test::scheduleOf("1f1b", 2, 3), 2);
    config.timeout = 2s;
    config.faults.push_back(parseFault("hang:rank=1,tp=1,step=1,op=B0").value());
    JobControl control;
    const auto result = runPipeline(config, control);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("rank 3 hangs: it has been in B0.0 of step 1"));
}

} // namespace
} // namespace bubblescope::runtime
