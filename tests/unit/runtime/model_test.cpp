#include "core/base/hash.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/model/gpt_stage.h"
#include "runtime/model/synthetic.h"
#include "tests/support/eigen_matrix.h"
#include "tests/unit/runtime/schedules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

namespace bubblescope::runtime {
namespace {

using ModelStage = GptStage<float>;
using Stages = std::vector<std::unique_ptr<ModelStage>>;

ModelConfig smallModel() {
    ModelConfig config;
    config.width = 6;
    config.heads = 2;
    config.sequence = 5;
    config.batch = 2;
    config.layers_per_stage = 2;
    config.seed = 11;
    return config;
}

Stages makeStages(const ModelConfig& config, int stages, int microbatches) {
    Stages made;
    for (int s = 0; s < stages; ++s) {
        StageTask task{s, stages, {}, 1, microbatches};
        for (int m = 0; m < microbatches; ++m)
            task.pieces.push_back({Microbatch{m}});
        made.push_back(std::make_unique<ModelStage>(makeCpuQueue(), config, std::move(task)));
    }
    return made;
}

/// Weights start small and biases at zero, where a wrong sign or place of theirs could hide.
void shake(Stages& stages) {
    float value = 0.11F;
    for (const auto& stage : stages) {
        const ParameterView<float> parameters = stage->parameters().view();
        for (std::size_t i = 0; i < parameters.parts.size(); ++i) {
            const FlatPart& part = parameters.part(i);
            for (std::int64_t at = 0; at < part.weightSize(); ++at)
                parameters.weight(i)[at] *= part.rows > 1 ? 15.0F : 1.0F;
            for (std::int64_t at = 0; at < part.bias_size; ++at)
                parameters.bias(i)[at] = value = -0.9F * value + 0.02F;
        }
    }
}

double lossOf(Stages& stages, int microbatches) {
    for (int m = 0; m < microbatches; ++m) {
        Tensor data;
        for (const auto& stage : stages)
            data = stage->forward({Microbatch{m}}, std::move(data));
    }
    return stages.back()->takeLoss();
}

void backward(Stages& stages, int microbatch) {
    Tensor data;
    for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
        data = (*stage)->backwardInput({Microbatch{microbatch}}, std::move(data));
        (*stage)->backwardWeight({Microbatch{microbatch}});
    }
}

/// Slope of `loss` in `value`, from both sides.
double slope(float& value, const std::function<double()>& loss) {
    constexpr float kStep = 0.004F;
    const float old = value;
    value = old + kStep;
    const float up = value;
    const double above = loss();
    value = old - kStep;
    const float down = value;
    const double below = loss();
    value = old;
    return (above - below) / (static_cast<double>(up) - static_cast<double>(down));
}

void expectClose(double gradient, double difference) {
    EXPECT_NEAR(gradient, difference, 1e-2 * std::abs(difference) + 5e-4);
}

/// Compares the gradients of the stages with the slopes of `loss`.
void expectGradients(Stages& stages, int microbatches, const std::function<double()>& loss) {
    for (const auto& stage : stages) {
        double largest = 0.0;
        const HostMatrix sum = stage->takeGradient().host();
        std::int64_t next = 0;
        const auto compare = [&](float* values, std::int64_t count) {
            // Each layer's own gradients are held against the reference model; here a sample tells that they reach
            // their places.
            for (std::int64_t at = 0; at < count; ++at, ++next) {
                if (count > 50 && at % 13 != 0) continue;
                const double mean = static_cast<double>(sum(next, 0)) / microbatches;
                largest = std::max(largest, std::abs(mean));
                expectClose(mean, slope(values[at], loss));
            }
        };
        const ParameterView<float> parameters = stage->parameters().view();
        for (std::size_t i = 0; i < parameters.parts.size(); ++i) {
            compare(parameters.weight(i), parameters.part(i).weightSize());
            compare(parameters.bias(i), parameters.part(i).bias_size);
        }
        EXPECT_EQ(next, sum.size());
        EXPECT_GT(largest, 0.02) << "gradients this small would pass whatever they were";
    }
}

TEST(GptStage, GradientsOfAllParametersEqualFiniteDifferences) {
    constexpr int kMicrobatches = 2;
    Stages stages = makeStages(smallModel(), 3, kMicrobatches);
    shake(stages);
    lossOf(stages, kMicrobatches);
    for (int m = 0; m < kMicrobatches; ++m)
        backward(stages, m);
    expectGradients(stages, kMicrobatches, [&] { return lossOf(stages, kMicrobatches); });
}

TEST(GptStage, GradientsOfEncodersEqualFiniteDifferences) {
    Schedule schedule = test::scheduleOf("1f1b", 3, 1);
    schedule.placement = encoderPlacement({1, 1});
    const DataPlan plan(schedule);
    Stages stages;
    for (int s = 0; s < 3; ++s)
        stages.push_back(std::make_unique<ModelStage>(makeCpuQueue(), smallModel(), plan.taskOf(Stage{s})));
    shake(stages);
    const Piece piece{Microbatch{0}};
    const auto loss = [&] {
        Tensor input = stages[0]->forward(piece, {});
        input += stages[1]->forward(piece, {});
        static_cast<void>(stages[2]->forward(piece, std::move(input)));
        return stages[2]->takeLoss();
    };
    loss();
    const Tensor gradient = stages[2]->backwardInput(piece, {});
    stages[2]->backwardWeight(piece);
    for (const std::size_t encoder : {0U, 1U}) {
        EXPECT_TRUE(stages[encoder]->backwardInput(piece, gradient).empty());
        stages[encoder]->backwardWeight(piece);
    }
    expectGradients(stages, 1, loss);
}

TEST(GptStage, GradientOfTheInputEqualsFiniteDifferences) {
    // Two stages; the second is driven by hand.
    Stages stages = makeStages(smallModel(), 2, 1);
    shake(stages);
    ModelStage& last = *stages[1];
    HostMatrix input = stages[0]->forward({Microbatch{0}}, {}).host();
    const auto loss = [&] {
        const Tensor nothing = last.forward({Microbatch{0}}, input);
        return last.takeLoss();
    };
    loss();
    const HostMatrix gradient = last.backwardInput({Microbatch{0}}, {}).host();
    ASSERT_EQ(gradient.rows(), input.rows());
    ASSERT_EQ(gradient.cols(), input.cols());
    for (std::int64_t at = 0; at < input.size(); ++at)
        expectClose(static_cast<double>(gradient.data()[at]), slope(input.data()[at], loss));
}

TEST(GptStage, OrderOfMicrobatchesDoesNotChangeABit) {
    const auto digestFor = [](const std::vector<int>& order) {
        Stages stages = makeStages(smallModel(), 2, 4);
        lossOf(stages, 4);
        for (const int m : order)
            backward(stages, m);
        std::uint64_t hash = kFnvOffset;
        for (const auto& stage : stages) {
            stage->applyGradient(stage->takeGradient());
            hash = stage->digest(hash);
        }
        return hash;
    };
    const std::uint64_t ascending = digestFor({0, 1, 2, 3});
    EXPECT_EQ(digestFor({3, 2, 1, 0}), ascending);
    EXPECT_EQ(digestFor({2, 0, 3, 1}), ascending);
}

TEST(GptStage, GradientsThatComeEarlyAreHeldUntilTheirTurn) {
    Stages stages = makeStages(smallModel(), 1, 3);
    ModelStage& stage = *stages[0];
    const std::int64_t weights = stage.memory().weights;
    EXPECT_EQ(stage.memory().total(), weights);
    lossOf(stages, 3);
    const std::int64_t activations = stage.memory().activations;
    EXPECT_GT(activations, 0);
    backward(stages, 2);
    backward(stages, 1);
    EXPECT_EQ(stage.memory().gradients, 2 * weights);
    EXPECT_EQ(stage.memory().activations, activations / 3);
    backward(stages, 0);
    EXPECT_EQ(stage.memory().gradients, weights) << "all in the sum";
    EXPECT_EQ(stage.memory().activations, 0);
}

TEST(GptStage, WeightGradientsMayComeLater) {
    Stages at_once = makeStages(smallModel(), 1, 2);
    lossOf(at_once, 2);
    backward(at_once, 0);
    backward(at_once, 1);

    Stages later = makeStages(smallModel(), 1, 2);
    lossOf(later, 2);
    for (const int m : {0, 1})
        [[maybe_unused]] const Tensor gradient = later[0]->backwardInput({Microbatch{m}}, {});
    later[0]->backwardWeight({Microbatch{1}});
    later[0]->backwardWeight({Microbatch{0}});

    EXPECT_EQ(at_once[0]->takeGradient().host(), later[0]->takeGradient().host());
}

TEST(GptStage, SlicesAddUpToTheMicrobatch) {
    const ModelConfig config = smallModel(); // 5 tokens in 2 slices: 2 and 3
    Stages whole = makeStages(config, 1, 1);
    shake(whole);
    const double loss = lossOf(whole, 1);
    backward(whole, 0);

    const Piece first{Microbatch{0}, 0};
    const Piece second{Microbatch{0}, 1};
    Stages sliced;
    sliced.push_back(std::make_unique<ModelStage>(makeCpuQueue(), config, StageTask{0, 1, {second, first}, 2, 1}));
    shake(sliced);
    ModelStage& stage = *sliced[0];
    EXPECT_THROW((void)stage.forward(second, {}), std::logic_error) << "attention needs the first slice";
    for (const Piece piece : {first, second})
        ASSERT_EQ(stage.forward(piece, {}).size(), 0);
    const std::int64_t forwards = stage.memory().activations;
    EXPECT_NEAR(stage.takeLoss(), loss, 1e-6);
    for (const Piece piece : {second, first}) {
        EXPECT_EQ(stage.backwardInput(piece, {}).size(), 0);
        EXPECT_GT(stage.memory().activations, 0);
        stage.backwardWeight(piece);
        EXPECT_LT(stage.memory().activations, forwards);
    }
    EXPECT_EQ(stage.memory().activations, 0);
    const Matrix<float> expected = toEigen(whole[0]->takeGradient().host());
    const Matrix<float> sum = toEigen(stage.takeGradient().host());
    ASSERT_EQ(sum.size(), expected.size());
    EXPECT_TRUE(sum.isApprox(expected, 1e-5F));
}

TEST(GptStage, RefusesOpsInAnImpossibleOrder) {
    const Stages stages = makeStages(smallModel(), 1, 2);
    ModelStage& stage = *stages[0];
    EXPECT_THROW((void)stage.backwardInput({Microbatch{0}}, {}), std::logic_error);
    ASSERT_EQ(stage.forward({Microbatch{0}}, {}).size(), 0);
    EXPECT_THROW(stage.backwardWeight({Microbatch{0}}), std::logic_error);
    ASSERT_EQ(stage.backwardInput({Microbatch{0}}, {}).size(), 0) << "nobody wants a gradient for words";
    stage.backwardWeight({Microbatch{0}});
    EXPECT_THROW((void)stage.takeGradient(), std::logic_error) << "micro-batch 1 is missing";
}

TEST(Synthetic, NumbersFollowFromSeedAndNameAlone) {
    const auto numbers = [](std::uint64_t seed, Synthetic::Stream stream, std::uint64_t name) {
        return toColumn(Synthetic(seed).uniform(stream, name, 1000, 2.0F));
    };
    const Matrix<float> a = numbers(5, Synthetic::Stream::Weights, 3);
    EXPECT_EQ(a, numbers(5, Synthetic::Stream::Weights, 3));
    EXPECT_NE(a, numbers(6, Synthetic::Stream::Weights, 3));
    EXPECT_NE(a, numbers(5, Synthetic::Stream::Weights, 4));
    EXPECT_NE(a, numbers(5, Synthetic::Stream::Data, 3));
    EXPECT_GE(a.minCoeff(), -2.0F);
    EXPECT_LT(a.maxCoeff(), 2.0F);
    EXPECT_NEAR(a.mean(), 0.0F, 0.15F);
    EXPECT_NEAR(a.array().square().mean(), 4.0F / 3.0F, 0.15F);
}

} // namespace
} // namespace bubblescope::runtime
