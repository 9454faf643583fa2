// A whole stage on a device against the reference model, and against itself where an order must not change a bit.

#include "runtime/model/gpt_stage.h"
#include "tests/gpu/test_device.h"
#include "tests/support/reference_model.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

ModelConfig smallModel() {
    ModelConfig config;
    config.width = 24;
    config.heads = 3;
    config.sequence = 10;
    config.batch = 2;
    config.layers_per_stage = 2;
    config.seed = 11;
    config.optimizer.learning_rate = 1e-2F;
    return config;
}

/// Two heads of 16 features, which attention may be fused for.
ModelConfig modelOfWideHeads() {
    ModelConfig config = smallModel();
    config.width = 32;
    config.heads = 2;
    return config;
}

StageTask taskOf(int place, int places, int microbatches, int slices = 1) {
    StageTask task{place, places, {}, slices, microbatches};
    for (int m = 0; m < microbatches; ++m) {
        for (int slice = slices; slice-- > 0;)
            task.pieces.push_back({Microbatch{m}, slice});
    }
    return task;
}

/// Weights start small and biases at zero, where a wrong sign or place of theirs could hide.
void shake(reference::Stage& stage) {
    float value = 0.11F;
    for (reference::Weights<double>& part : stage.parameters()) {
        part.weight *= part.weight.rows() > 1 ? 8.0 : 1.0;
        for (double& bias : part.bias) {
            value = -0.9F * value + 0.02F;
            bias = static_cast<double>(value);
        }
    }
}

template <class T>
class Stage : public DeviceTest {
protected:
    std::unique_ptr<GptStage<T>> make(const ModelConfig& config, StageTask task) {
        return std::make_unique<GptStage<T>>(queue_, config, std::move(task));
    }
    Tensor onDevice(const Matrix<float>& rows) {
        return queue_->give(device_.template putRows<T>(rows), rows.rows(), rows.cols(), kStorage<T>);
    }
    /// The gradient without gaps.
    Matrix<float> gradientOf(GptStage<T>& stage) { return gradientIn(stage, stage.takeGradient()); }
    Matrix<float> gradientIn(GptStage<T>& stage, const Tensor& sum) {
        const void* const values = queue_->valuesOf(sum, stage.parameters().size(), 1, Storage::Float);
        return toColumn(stage.parameters().toHost(static_cast<const float*>(values)));
    }
    static constexpr bool kExact = sizeof(T) == sizeof(float);

    Numbers numbers_{3};
};

TYPED_TEST_SUITE(Stage, Storages);

TYPED_TEST(Stage, BeginsWithTheStatedWeights) {
    for (const int place : {0, 1, 2}) {
        const reference::Stage expected(smallModel(), taskOf(place, 3, 1));
        const auto stage = this->make(smallModel(), taskOf(place, 3, 1));
        EXPECT_EQ(stage->parameters().toHost(), expected.values()) << place;
    }
}

TYPED_TEST(Stage, ComputesWhatTheReferenceDoes) {
    // Three stages, each driven by hand with the same tensors, so that what one rounds does not reach the others.
    constexpr int kMicrobatches = 2;
    const double close = this->kExact ? 1e-4 : 3e-2;
    for (const auto& [config, place] : std::vector<std::pair<ModelConfig, int>>{
             {smallModel(), 0}, {smallModel(), 1}, {smallModel(), 2}, {modelOfWideHeads(), 1}}) {
        const Eigen::Index tokens = config.batch * config.sequence;
        reference::Stage expected(config, taskOf(place, 3, kMicrobatches));
        shake(expected);
        const auto stage = this->make(config, taskOf(place, 3, kMicrobatches));
        stage->parameters().fromHost(expected.values());
        for (int m = 0; m < kMicrobatches; ++m) {
            const Piece piece{Microbatch{m}};
            const Matrix<float> input = rounded<TypeParam>(this->numbers_.matrix(tokens, config.width));
            const Matrix<double> expected_output = expected.forward(piece, input.template cast<double>());
            const Tensor output = stage->forward(piece, place == 0 ? Tensor() : this->onDevice(input));
            if (place < 2) {
                EXPECT_LT(distance(toEigen(output.toHost()), expected_output), close) << place;
            }
            const Matrix<float> grad = rounded<TypeParam>(this->numbers_.matrix(tokens, config.width, 0.1F));
            const Matrix<double> expected_grad = expected.backwardInput(piece, grad.template cast<double>());
            const Tensor input_grad = stage->backwardInput(piece, place == 2 ? Tensor() : this->onDevice(grad));
            if (place > 0) {
                EXPECT_LT(distance(toEigen(input_grad.toHost()), expected_grad), close) << place;
            }
            expected.backwardWeight(piece);
            stage->backwardWeight(piece);
        }
        EXPECT_NEAR(stage->takeLoss(), expected.loss(), this->kExact ? 1e-5 : 2e-2);
        const Tensor sum = stage->takeGradient();
        EXPECT_LT(distance(this->gradientIn(*stage, sum), expected.gradient()), close) << place;
        expected.step();
        stage->applyGradient(sum);
        // A first step of AdamW is the gradient's sign, which rounding flips where it is close to 0.
        EXPECT_LT(distance(toColumn(stage->parameters().toHost()), toColumn(expected.values()).template cast<double>()),
                  this->kExact ? 1e-3 : 1e-1);
    }
}

TYPED_TEST(Stage, SlicesAddUpToTheMicrobatch) {
    constexpr int kSlices = 3; // 10 tokens: 3, 3 and 4
    for (const ModelConfig& config : {smallModel(), modelOfWideHeads()}) {
        reference::Stage weights(config, taskOf(0, 1, 1));
        shake(weights);
        const auto whole = this->make(config, taskOf(0, 1, 1));
        whole->parameters().fromHost(weights.values());
        const Piece piece{Microbatch{0}};
        EXPECT_TRUE(whole->forward(piece, {}).empty());
        EXPECT_TRUE(whole->backwardInput(piece, {}).empty());
        whole->backwardWeight(piece);

        const auto sliced = this->make(config, taskOf(0, 1, 1, kSlices));
        sliced->parameters().fromHost(weights.values());
        EXPECT_THROW((void)sliced->forward({Microbatch{0}, 1}, {}), std::logic_error)
            << "attention needs the first slice";
        for (int slice = 0; slice < kSlices; ++slice)
            EXPECT_TRUE(sliced->forward({Microbatch{0}, slice}, {}).empty());
        for (int slice = kSlices; slice-- > 0;) {
            EXPECT_TRUE(sliced->backwardInput({Microbatch{0}, slice}, {}).empty());
            sliced->backwardWeight({Microbatch{0}, slice});
        }
        EXPECT_NEAR(sliced->takeLoss(), whole->takeLoss(), this->kExact ? 1e-5 : 1e-2);
        EXPECT_EQ(sliced->memory().activations, 0);
        EXPECT_LT(distance(this->gradientOf(*sliced), this->gradientOf(*whole).template cast<double>()),
                  this->kExact ? 1e-5 : 2e-2);
    }
}

TYPED_TEST(Stage, OrderOfWeightGradientsDoesNotChangeABit) {
    constexpr int kMicrobatches = 4;
    const auto gradientFor = [&](const std::vector<int>& order) {
        const auto stage = this->make(modelOfWideHeads(), taskOf(0, 1, kMicrobatches));
        for (int m = 0; m < kMicrobatches; ++m)
            (void)stage->forward({Microbatch{m}}, {});
        for (int m = 0; m < kMicrobatches; ++m)
            (void)stage->backwardInput({Microbatch{m}}, {});
        for (const int m : order)
            stage->backwardWeight({Microbatch{m}});
        return this->gradientOf(*stage);
    };
    const Matrix<float> ascending = gradientFor({0, 1, 2, 3});
    EXPECT_TRUE(ascending.allFinite());
    EXPECT_EQ(gradientFor({3, 2, 1, 0}), ascending);
    EXPECT_EQ(gradientFor({2, 0, 3, 1}), ascending);
    EXPECT_EQ(gradientFor({0, 1, 2, 3}), ascending) << "the same again";
}

TYPED_TEST(Stage, CountsWhatItHolds) {
    const auto stage = this->make(smallModel(), taskOf(0, 1, 3));
    EXPECT_EQ(stage->memory().total(), stage->memory().weights);
    const std::int64_t column = stage->parameters().size() * bytesOf(Storage::Float);
    EXPECT_EQ(stage->memory().weights, this->kExact ? column : column / 2 * 3);
    for (const int m : {0, 1, 2})
        (void)stage->forward({Microbatch{m}}, {});
    const std::int64_t activations = stage->memory().activations;
    EXPECT_GT(activations, 0);
    for (const int m : {2, 1}) {
        (void)stage->backwardInput({Microbatch{m}}, {});
        stage->backwardWeight({Microbatch{m}});
    }
    EXPECT_EQ(stage->memory().gradients, 2 * column) << "both wait for micro-batch 0";
    EXPECT_EQ(stage->memory().activations, activations / 3);
    (void)stage->backwardInput({Microbatch{0}}, {});
    stage->backwardWeight({Microbatch{0}});
    EXPECT_EQ(stage->memory().gradients, column);
    EXPECT_EQ(stage->memory().activations, 0);
    stage->applyGradient(stage->takeGradient());
    EXPECT_EQ(stage->memory().optimizer, 2 * column);
    EXPECT_EQ(stage->memory().gradients, 0);
}

TYPED_TEST(Stage, TheSecondStepAsksForNoMemory) {
    const auto stage = this->make(smallModel(), taskOf(0, 1, 2));
    std::int64_t reserved = 0;
    for (int step = 0; step < 4; ++step) {
        for (const int m : {0, 1}) {
            (void)stage->forward({Microbatch{m}}, {});
            (void)stage->backwardInput({Microbatch{m}}, {});
            stage->backwardWeight({Microbatch{m}});
        }
        stage->applyGradient(stage->takeGradient());
        if (step > 0) {
            EXPECT_EQ(this->queue_->reservedBytes(), reserved) << "step " << step;
        }
        reserved = this->queue_->reservedBytes();
    }
    if (this->queue_->device().sharesHostMemory())
        EXPECT_LT(reserved, this->queue_->peakBytes()); // the host has got back what no op holds
    else
        EXPECT_GE(reserved, this->queue_->peakBytes());
}

TYPED_TEST(Stage, LossFallsOnTheDemoText) {
    ModelConfig config = smallModel();
    config.sequence = 32;
    const auto stage = this->make(config, taskOf(0, 1, 2));
    std::vector<double> losses;
    for (int step = 0; step < 30; ++step) {
        for (const int m : {0, 1}) {
            (void)stage->forward({Microbatch{m}}, {});
            (void)stage->backwardInput({Microbatch{m}}, {});
            stage->backwardWeight({Microbatch{m}});
        }
        stage->applyGradient(stage->takeGradient());
        losses.push_back(stage->takeLoss());
    }
    EXPECT_NEAR(losses.front(), std::log(256.0), 0.2);
    EXPECT_LT(losses.back(), 3.6);
}

TYPED_TEST(Stage, RefusesOpsInAnImpossibleOrder) {
    const auto stage = this->make(smallModel(), taskOf(0, 1, 2));
    EXPECT_THROW((void)stage->backwardInput({Microbatch{0}}, {}), std::logic_error);
    EXPECT_TRUE(stage->forward({Microbatch{0}}, {}).empty());
    EXPECT_THROW(stage->backwardWeight({Microbatch{0}}), std::logic_error);
    EXPECT_TRUE(stage->backwardInput({Microbatch{0}}, {}).empty());
    stage->backwardWeight({Microbatch{0}});
    EXPECT_THROW((void)stage->takeGradient(), std::logic_error) << "micro-batch 1 is missing";
    const auto middle = this->make(smallModel(), taskOf(1, 3, 1));
    EXPECT_THROW((void)middle->forward({Microbatch{0}}, HostMatrix(19, 24)), std::logic_error)
        << "a tensor of another shape, on the host";
}

} // namespace
} // namespace bubblescope::runtime::test
