// Gradients of the reference model in double precision against differences of its forward, which leaves no room for a
// wrong factor. The results of accelerators are compared with that model, see tests/gpu/stage_test.cpp.

#include "tests/support/reference_model.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <random>

namespace bubblescope::runtime::reference {
namespace {

using M = Matrix<double>;

class Numbers {
public:
    M matrix(Eigen::Index rows, Eigen::Index columns) {
        M result(rows, columns);
        for (Eigen::Index i = 0; i < result.size(); ++i)
            result.data()[i] = normal_(random_);
        return result;
    }
    Weights<double> weights(Eigen::Index inputs, Eigen::Index outputs) {
        return {matrix(inputs, outputs), matrix(1, outputs).row(0)};
    }

private:
    std::mt19937 random_{4};
    std::normal_distribution<double> normal_{0, 0.7};
};

/// Compares with the slope of `loss` in every value, from both sides.
template <class Dense, class Gradient>
void expectSlopes(Dense& values, const Gradient& gradient, const std::function<double()>& loss) {
    ASSERT_EQ(values.size(), gradient.size());
    constexpr double kStep = 1e-5;
    for (Eigen::Index i = 0; i < values.size(); ++i) {
        const double old = values.data()[i];
        values.data()[i] = old + kStep;
        const double above = loss();
        values.data()[i] = old - kStep;
        const double below = loss();
        values.data()[i] = old;
        const double slope = (above - below) / (2 * kStep);
        EXPECT_NEAR(gradient.data()[i], slope, 1e-7 + 1e-6 * std::abs(slope)) << "value " << i;
    }
}

/// A loss that weighs every output differently, so that no error cancels.
double weighed(const M& output, const M& by) {
    return (output.array() * by.array()).sum();
}

TEST(Layers, Gelu) {
    Numbers numbers;
    M x = 3 * numbers.matrix(4, 3);
    const M by = numbers.matrix(4, 3);
    expectSlopes(x, M(by.cwiseProduct(geluDerivative(x))), [&] { return weighed(gelu(x), by); });
    M known(1, 2);
    known << 1, -2;
    EXPECT_NEAR(gelu(known)(0), 0.841192, 1e-6);
    EXPECT_NEAR(gelu(known)(1), -0.045402, 1e-6);
}

TEST(Layers, Normalisation) {
    Numbers numbers;
    M x = numbers.matrix(3, 5);
    Weights<double> norm = numbers.weights(1, 5);
    const M by = numbers.matrix(3, 5);
    const auto loss = [&] { return weighed(scaled(norm, normalise(x).values), by); };
    const auto normalised = normalise(x);
    EXPECT_NEAR(normalised.values.row(1).mean(), 0, 1e-12);
    EXPECT_NEAR(normalised.values.row(1).squaredNorm() / 5, 1, 1e-3);
    const auto weights = normWeightGradient(normalised.values, by);
    expectSlopes(x, normInputGradient(norm, normalised, by), loss);
    expectSlopes(norm.weight, weights.weight, loss);
    expectSlopes(norm.bias, weights.bias, loss);
}

TEST(Layers, AttentionSeesNoLaterToken) {
    Numbers numbers;
    M columns = numbers.matrix(2 * 4, 3 * 6);
    AttentionWeights<double> weights;
    const AttentionShape shape{2, 3};
    const M before = attend<double>(columns, {}, shape, weights);
    columns.row(3) = numbers.matrix(1, 18); // the last token of the first sequence
    const M after = attend<double>(columns, {}, shape, weights);
    EXPECT_EQ(before.topRows(3), after.topRows(3));
    EXPECT_NE(before.row(3), after.row(3));
    EXPECT_EQ(before.bottomRows(4), after.bottomRows(4));
    for (const M& one : weights) {
        for (Eigen::Index row = 0; row < one.rows(); ++row)
            EXPECT_NEAR(one.row(row).sum(), 1, 1e-12);
    }
}

TEST(Layers, Attention) {
    Numbers numbers;
    M columns = numbers.matrix(2 * 3, 3 * 4);
    const AttentionShape shape{2, 2};
    const M by = numbers.matrix(2 * 3, 4);
    AttentionWeights<double> weights;
    (void)attend<double>(columns, {}, shape, weights);
    const M gradient = attendGradient<double>(by, columns, {}, shape, weights, {});
    expectSlopes(columns, gradient, [&] {
        AttentionWeights<double> unused;
        return weighed(attend<double>(columns, {}, shape, unused), by);
    });
}

TEST(Layers, CrossEntropy) {
    Numbers numbers;
    M logits = numbers.matrix(3, 7);
    const std::array<int, 3> targets{2, 0, 6};
    const auto result = crossEntropy<double>(logits, targets, 0.25);
    expectSlopes(logits, result.logits_grad, [&] { return 0.25 * crossEntropy<double>(logits, targets, 1).sum; });
    EXPECT_NEAR(crossEntropy<double>(M::Zero(2, 7), std::array<int, 2>{1, 5}, 1).sum, 2 * std::log(7.0), 1e-12);
    // Numbers whose exponential is beyond a double.
    M large(1, 2);
    large << 5000, 4000;
    EXPECT_NEAR(crossEntropy<double>(large, std::array<int, 1>{1}, 1).sum, 1000, 1e-9);
}

class BlockGradients : public ::testing::TestWithParam<int> {};

/// A whole block over a sequence cut into slices: forward in order, back in reverse, against the slopes of it all.
TEST_P(BlockGradients, EqualFiniteDifferences) {
    const int slices = GetParam();
    constexpr Eigen::Index kWidth = 4;
    constexpr int kBatch = 2;
    Numbers numbers;
    Parameters<double> parameters{numbers.weights(1, kWidth),          numbers.weights(kWidth, 3 * kWidth),
                                  numbers.weights(kWidth, kWidth),     numbers.weights(1, kWidth),
                                  numbers.weights(kWidth, 4 * kWidth), numbers.weights(4 * kWidth, kWidth)};
    std::vector<M> inputs;
    std::vector<M> by;
    for (int s = 0; s < slices; ++s) {
        inputs.push_back(numbers.matrix(kBatch * (2 + s % 2), kWidth));
        by.push_back(numbers.matrix(inputs.back().rows(), kWidth));
    }
    const Block block(parameters, {kBatch, 2});
    const auto pointers = [](std::vector<Block::Saved>& kept, int count) {
        std::vector<Block::Saved*> result;
        for (int s = 0; s < count; ++s)
            result.push_back(&kept[static_cast<std::size_t>(s)]);
        return result;
    };
    std::vector<Block::Saved> kept;
    const auto loss = [&] {
        kept.assign(static_cast<std::size_t>(slices), {});
        double sum = 0;
        for (int s = 0; s < slices; ++s) {
            const auto at = static_cast<std::size_t>(s);
            sum += weighed(block.forward(inputs[at], pointers(kept, s), kept[at]), by[at]);
        }
        return sum;
    };
    loss();
    std::vector<M> input_grads(inputs.size());
    Parameters<double> gradients;
    for (int s = slices; s-- > 0;) {
        const auto at = static_cast<std::size_t>(s);
        EXPECT_EQ(kept[at].output_grads[BlockParts::kFc2].size(), 0);
        input_grads[at] = block.backwardInput(by[at], pointers(kept, s), kept[at]);
        EXPECT_GT(kept[at].output_grads[BlockParts::kFc2].size(), 0);
        Parameters<double> more = block.backwardWeight(kept[at]);
        if (gradients.empty()) {
            gradients = std::move(more);
            continue;
        }
        for (std::size_t part = 0; part < gradients.size(); ++part) {
            gradients[part].weight += more[part].weight;
            gradients[part].bias += more[part].bias;
        }
    }
    for (std::size_t s = 0; s < inputs.size(); ++s)
        expectSlopes(inputs[s], input_grads[s], loss);
    for (std::size_t part = 0; part < gradients.size(); ++part) {
        expectSlopes(parameters[part].weight, gradients[part].weight, loss);
        expectSlopes(parameters[part].bias, gradients[part].bias, loss);
    }
}

INSTANTIATE_TEST_SUITE_P(Slices, BlockGradients, ::testing::Values(1, 2, 3));

} // namespace
} // namespace bubblescope::runtime::reference
