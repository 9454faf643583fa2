// Each kernel against the reference model in double precision, at sizes around the lanes of a block.

#include "runtime/model/layers.h"
#include "runtime/model/live_tensor.h"
#include "runtime/model/model_config.h"
#include "runtime/model/synthetic.h"
#include "runtime/model/text_data.h"
#include "tests/gpu/test_device.h"
#include "tests/support/reference_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace bubblescope::runtime::test {
namespace {

using M = Matrix<double>;

template <class T>
class Kernels : public DeviceTest {
protected:
    /// The numbers on the device, as T stores them.
    Matrix<float> stored(Eigen::Index rows, Eigen::Index columns, float scale = 1.0F) {
        return rounded<T>(numbers_.matrix(rows, columns, scale));
    }

    Numbers numbers_{7};
};

TYPED_TEST_SUITE(Kernels, Storages);

constexpr std::array<Eigen::Index, 5> kWidths{5, 255, 256, 900, 1032};

TYPED_TEST(Kernels, Normalisation) {
    using T = TypeParam;
    for (const Eigen::Index width : kWidths) {
        constexpr Eigen::Index kTokens = 37;
        const Matrix<float> x = this->stored(kTokens, width, 3.0F).array() + 0.5F;
        const Matrix<float> input = rounded<T>(x);
        const Matrix<float> gain = this->numbers_.matrix(1, width);
        const Matrix<float> bias = this->numbers_.matrix(1, width);
        const Matrix<float> grad = this->stored(kTokens, width);
        const Matrix<float> beside = this->stored(kTokens, width);
        const reference::Weights<double> norm{gain.cast<double>(), bias.row(0).cast<double>()};
        const reference::Normalised<double> expected = reference::normalise<double>(input.cast<double>());

        const Buffer on = this->device_.template putRows<T>(input);
        const Buffer values = this->device_.template room<T>(kTokens * width);
        const Buffer inverse = this->device_.template room<float>(kTokens);
        this->queue_->launch(NormaliseKernel<T>{values.as<T>(), inverse.as<float>(), on.as<T>(), kTokens, width});
        EXPECT_LT(distance(this->device_.template getRows<T>(values, width), expected.values), kRounding<T>) << width;
        EXPECT_LT(distance(this->device_.template getRows<float>(inverse, 1), expected.inverse_deviations), 2e-6);

        const Buffer gains = this->device_.template putRows<float>(gain);
        const Buffer biases = this->device_.template putRows<float>(bias);
        const Buffer output = this->device_.template room<T>(kTokens * width);
        this->queue_->launch(
            ScaleKernel<T>{output.as<T>(), values.as<T>(), gains.as<float>(), biases.as<float>(), kTokens, width});
        EXPECT_LT(distance(this->device_.template getRows<T>(output, width), reference::scaled(norm, expected.values)),
                  kRounding<T>);

        const Buffer grads = this->device_.template putRows<T>(grad);
        const Buffer besides = this->device_.template putRows<T>(beside);
        const M through = reference::normInputGradient(norm, expected, M(grad.cast<double>()));
        for (const bool adds : {false, true}) {
            const Buffer result = this->device_.template room<T>(kTokens * width);
            this->queue_->launch(NormGradientKernel<T>{result.as<T>(), adds ? besides.as<T>() : nullptr, grads.as<T>(),
                                                       values.as<T>(), inverse.as<float>(), gains.as<float>(), kTokens,
                                                       width});
            const M sum = adds ? M(through + beside.cast<double>()) : through;
            EXPECT_LT(distance(this->device_.template getRows<T>(result, width), sum), 2 * kRounding<T>) << width;
        }

        const reference::Weights<double> weights =
            reference::normWeightGradient(expected.values, M(grad.cast<double>()));
        const Buffer gain_grad = this->device_.template room<float>(width);
        const Buffer bias_grad = this->device_.template room<float>(width);
        for (const bool accumulate : {false, true}) {
            this->queue_->launch(NormWeightGradientKernel<T>{
                gain_grad.as<float>(), bias_grad.as<float>(), values.as<T>(), grads.as<T>(), kTokens, width,
                accumulate ? gain_grad.as<float>() : nullptr, accumulate ? bias_grad.as<float>() : nullptr});
            const double times = accumulate ? 2 : 1;
            EXPECT_LT(distance(this->device_.template getRows<float>(gain_grad, width), times * weights.weight),
                      kRounding<T>);
            EXPECT_LT(distance(this->device_.template getRows<float>(bias_grad, width), times * weights.bias), 2e-6);
        }
    }
}

TYPED_TEST(Kernels, Gelu) {
    using T = TypeParam;
    const Matrix<float> before = this->stored(53, 41, 3.0F);
    const Matrix<float> grad = this->stored(53, 41);
    const Buffer on = this->device_.template putRows<T>(before);
    const Buffer output = this->device_.template room<T>(before.size());
    this->queue_->launch(GeluKernel<T>{output.as<T>(), on.as<T>(), before.size()});
    EXPECT_LT(distance(this->device_.template getRows<T>(output, 41), reference::gelu<double>(before.cast<double>())),
              kRounding<T>);
    const Buffer grads = this->device_.template putRows<T>(grad);
    this->queue_->launch(GeluGradientKernel<T>{grads.as<T>(), on.as<T>(), before.size()});
    const M expected = reference::geluDerivative<double>(before.cast<double>()).cwiseProduct(grad.cast<double>());
    EXPECT_LT(distance(this->device_.template getRows<T>(grads, 41), expected), kRounding<T>);
}

TYPED_TEST(Kernels, SoftmaxOfWhatAQuerySees) {
    using T = TypeParam;
    for (const auto& [queries, keys] : {std::pair<Eigen::Index, Eigen::Index>{7, 7}, {40, 300}, {300, 300}}) {
        constexpr Eigen::Index kHeads = 3;
        const Matrix<float> scores = this->numbers_.matrix(kHeads * queries, keys, 4.0F);
        M expected = M::Zero(scores.rows(), keys);
        for (Eigen::Index row = 0; row < scores.rows(); ++row) {
            const Eigen::Index seen = keys - queries + row % queries + 1;
            const auto visible = scores.row(row).head(seen).template cast<double>().array().eval();
            const auto powers = (visible - visible.maxCoeff()).exp().eval();
            expected.row(row).head(seen) = powers / powers.sum();
        }
        const Buffer on = this->device_.template putRows<float>(scores);
        const Buffer weights = this->device_.template room<T>(scores.size());
        this->queue_->launch(CausalSoftmaxKernel<T>{weights.as<T>(), on.as<float>(), kHeads, queries, keys});
        const Matrix<float> made = this->device_.template getRows<T>(weights, keys);
        EXPECT_LT(distance(made, expected), kRounding<T>) << queries << " of " << keys;

        const Matrix<float> grad = this->numbers_.matrix(scores.rows(), keys);
        const M w = made.template cast<double>();
        const M g = grad.template cast<double>();
        const M along = w.cwiseProduct(g).rowwise().sum();
        const M scores_grad = 0.5 * w.cwiseProduct(g.colwise() - along.col(0));
        const Buffer grads = this->device_.template putRows<float>(grad);
        this->queue_->launch(
            CausalSoftmaxGradientKernel<T>{weights.as<T>(), grads.as<float>(), kHeads, queries, keys, 0.5F});
        EXPECT_LT(distance(this->device_.template getRows<T>(weights, keys), scores_grad), kRounding<T>);
    }
}

TYPED_TEST(Kernels, CrossEntropy) {
    using T = TypeParam;
    for (const Eigen::Index vocabulary : kWidths) {
        constexpr Eigen::Index kTokens = 33;
        const Matrix<float> logits = this->numbers_.matrix(kTokens, vocabulary, 5.0F);
        std::vector<int> targets;
        for (Eigen::Index i = 0; i < kTokens; ++i)
            targets.push_back(static_cast<int>((i * 7) % vocabulary));
        const reference::CrossEntropy<double> expected =
            reference::crossEntropy<double>(logits.cast<double>(), targets, 0.125);
        const Buffer on = this->device_.template putRows<float>(logits);
        const Buffer aims = this->device_.put(targets);
        const Buffer grads = this->device_.template room<T>(logits.size());
        const Buffer losses = this->device_.template room<float>(kTokens);
        this->queue_->launch(CrossEntropyKernel<T>{grads.as<T>(), losses.as<float>(), on.as<float>(), aims.as<int>(),
                                                   kTokens, vocabulary, 0.125F});
        EXPECT_LT(distance(this->device_.template getRows<T>(grads, vocabulary), expected.logits_grad), kRounding<T>);
        const Buffer loss = this->device_.put(std::vector<double>{-1.0});
        this->queue_->launch(LossKernel{loss.as<double>(), losses.as<float>(), kTokens, 0.5});
        EXPECT_NEAR(this->device_.template get<double>(loss)[0], 0.5 * expected.sum, 1e-5 * expected.sum);
    }
}

TYPED_TEST(Kernels, GradientOfABias) {
    using T = TypeParam;
    for (const Eigen::Index tokens : {1, 31, 100}) {
        constexpr Eigen::Index kWidth = 70;
        const Matrix<float> grad = this->stored(tokens, kWidth);
        const Buffer on = this->device_.template putRows<T>(grad);
        const Buffer sum = this->device_.template room<float>(kWidth);
        this->queue_->launch(BiasGradientKernel<T>{sum.as<float>(), on.as<T>(), tokens, kWidth, nullptr});
        this->queue_->launch(BiasGradientKernel<T>{sum.as<float>(), on.as<T>(), tokens, kWidth, sum.as<float>()});
        EXPECT_LT(
            distance(this->device_.template getRows<float>(sum, kWidth), 2.0 * M(grad.cast<double>().colwise().sum())),
            2e-6);
    }
}

TYPED_TEST(Kernels, EmbeddingAndItsGradient) {
    using T = TypeParam;
    constexpr int kSequences = 2;
    constexpr int kPositions = 11;
    constexpr int kBegin = 3; // a slice of 6 tokens
    constexpr int kLength = 6;
    constexpr Eigen::Index kWidth = 37;
    constexpr Eigen::Index kVocabulary = 9;
    constexpr Eigen::Index kTokens = kSequences * kLength;
    const Matrix<float> words = this->numbers_.matrix(kVocabulary, kWidth);
    const Matrix<float> places = this->numbers_.matrix(kPositions, kWidth);
    const Matrix<float> grad = this->stored(kTokens, kWidth);
    std::vector<int> tokens;
    M expected(kTokens, kWidth);
    M words_grad = M::Zero(kVocabulary, kWidth);
    M places_grad = M::Zero(kPositions, kWidth);
    for (int i = 0; i < kTokens; ++i) {
        tokens.push_back((i * i + 1) % static_cast<int>(kVocabulary));
        const int place = kBegin + i % kLength;
        expected.row(i) = (words.row(tokens.back()) + places.row(place)).template cast<double>();
        words_grad.row(tokens.back()) += grad.row(i).template cast<double>();
        places_grad.row(place) += grad.row(i).template cast<double>();
    }
    // Tables are stored by columns, so by rows they are transposed.
    const Buffer word_table = this->device_.template putRows<float>(words.transpose());
    const Buffer place_table = this->device_.template putRows<float>(places.transpose());
    const Buffer ids = this->device_.put(tokens);
    const Buffer output = this->device_.template room<T>(kTokens * kWidth);
    this->queue_->launch(EmbedKernel<T>{output.as<T>(), ids.as<int>(), word_table.as<float>(), place_table.as<float>(),
                                        kTokens, kWidth, kVocabulary, kPositions, kBegin, kLength});
    EXPECT_LT(distance(this->device_.template getRows<T>(output, kWidth), expected), kRounding<T>);

    const Buffer grads = this->device_.template putRows<T>(grad);
    const Buffer word_grads = this->device_.template room<float>(kVocabulary * kWidth);
    const Buffer place_grads = this->device_.template room<float>(kPositions * kWidth);
    for (const bool accumulate : {false, true}) {
        this->queue_->launch(TokenTableGradientKernel<T>{word_grads.as<float>(), grads.as<T>(), ids.as<int>(), kTokens,
                                                         kWidth, kVocabulary,
                                                         accumulate ? word_grads.as<float>() : nullptr});
        this->queue_->launch(PositionTableGradientKernel<T>{place_grads.as<float>(), grads.as<T>(), kWidth, kPositions,
                                                            kSequences, kBegin, kLength,
                                                            accumulate ? place_grads.as<float>() : nullptr});
    }
    EXPECT_LT(distance(this->device_.template getRows<float>(word_grads, kVocabulary), 2.0 * M(words_grad.transpose())),
              2e-6);
    EXPECT_LT(
        distance(this->device_.template getRows<float>(place_grads, kPositions), 2.0 * M(places_grad.transpose())),
        2e-6);
}

TYPED_TEST(Kernels, AdamWFollowsItsFormula) {
    using T = TypeParam;
    constexpr Eigen::Index kSize = 1000;
    const Matrix<float> begin = this->numbers_.matrix(kSize, 1);
    const Buffer exact = this->device_.template putRows<float>(begin);
    const Buffer copy = this->device_.template room<T>(kSize);
    T* const stored = sizeof(T) == sizeof(float) ? exact.as<T>() : copy.as<T>();
    const Buffer first = this->device_.put(std::vector<float>(kSize, 0.0F));
    const Buffer second = this->device_.put(std::vector<float>(kSize, 0.0F));
    OptimizerConfig config;
    config.learning_rate = 0.1F;
    config.weight_decay = 0.5F;
    using Column = Eigen::ArrayXd;
    Column values = begin.cast<double>().array();
    Column mean = Column::Zero(kSize);
    Column square = Column::Zero(kSize);
    for (int step = 1; step <= 5; ++step) {
        const Matrix<float> sum = this->numbers_.matrix(kSize, 1);
        const Column gradient = sum.cast<double>().array() / 4;
        const auto beta1 = static_cast<double>(config.beta1);
        const auto beta2 = static_cast<double>(config.beta2);
        mean = beta1 * mean + (1 - beta1) * gradient;
        square = beta2 * square + (1 - beta2) * gradient.square();
        values *= 1 - 0.1 * 0.5;
        values -= 0.1 * (mean / (1 - std::pow(beta1, step))) /
                  ((square / (1 - std::pow(beta2, step))).sqrt() + static_cast<double>(config.epsilon));
        const Buffer gradients = this->device_.template putRows<float>(sum);
        const auto correction = [&](float beta) { return static_cast<float>(1.0 - std::pow(double{beta}, step)); };
        this->queue_->launch(AdamWKernel<T>{exact.as<float>(), stored, gradients.as<float>(), first.as<float>(),
                                            second.as<float>(), kSize, 4.0F, config.beta1, config.beta2,
                                            1.0F - config.learning_rate * config.weight_decay,
                                            config.learning_rate / correction(config.beta1),
                                            1.0F / std::sqrt(correction(config.beta2)), config.epsilon});
        const Matrix<float> now = this->device_.template getRows<float>(exact, 1);
        EXPECT_LT(distance(now, values.matrix()), 1e-5);
        if (sizeof(T) != sizeof(float)) {
            EXPECT_EQ(this->device_.template getRows<T>(copy, 1), rounded<T>(now));
        }
    }
}

TYPED_TEST(Kernels, AddsColumnsOfMatricesOfOtherWidths) {
    using T = TypeParam;
    const Matrix<float> to = this->stored(6, 9);
    const Matrix<float> from = this->numbers_.matrix(6, 5);
    const Buffer target = this->device_.template putRows<T>(to);
    const Buffer source = this->device_.template putRows<float>(from);
    this->queue_->launch(AddColumnsKernel<T>{target.as<T>(), source.as<float>(), 6, 4, 9, 3, 5, 1});
    Matrix<float> expected = to;
    expected.middleCols(3, 4) += from.middleCols(1, 4);
    EXPECT_LT(distance(this->device_.template getRows<T>(target, 9), expected.cast<double>()), kRounding<T>);
    const Matrix<float> made = this->device_.template getRows<T>(target, 9);
    EXPECT_EQ(made.leftCols(3), to.leftCols(3));
    EXPECT_EQ(made.rightCols(2), to.rightCols(2));
}

/// All four layouts, with batches, scales, biases and sums.
TYPED_TEST(Kernels, Products) {
    using T = TypeParam;
    constexpr std::int64_t kRows = 24;
    constexpr std::int64_t kColumns = 40;
    constexpr std::int64_t kInner = 16;
    constexpr int kBatch = 3;
    for (const bool a_transposed : {false, true}) {
        for (const bool b_transposed : {false, true}) {
            for (const bool exact : {false, true}) {
                const auto run = [&](auto storage) {
                    using Out = decltype(storage);
                    const Matrix<float> a =
                        this->stored(a_transposed ? kInner : kRows, kBatch * (a_transposed ? kRows : kInner));
                    const Matrix<float> b =
                        this->stored(b_transposed ? kColumns : kInner, kBatch * (b_transposed ? kInner : kColumns));
                    const Matrix<float> before = rounded<Out>(this->numbers_.matrix(kRows, kBatch * kColumns));
                    const Matrix<float> bias = rounded<Out>(this->numbers_.matrix(kRows, 1));
                    // Column by column is row by row of the transpose.
                    const Buffer on_a = this->device_.template putRows<T>(a.transpose());
                    const Buffer on_b = this->device_.template putRows<T>(b.transpose());
                    const Buffer on_bias = this->device_.template putRows<Out>(bias);
                    for (const bool full : {false, true}) {
                        const Buffer result = full ? this->device_.template putRows<Out>(before.transpose())
                                                   : this->device_.template room<Out>(before.size());
                        Gemm gemm;
                        gemm.rows = kRows;
                        gemm.columns = kColumns;
                        gemm.inner = kInner;
                        gemm.in = kStorage<T>;
                        gemm.out = kStorage<Out>;
                        gemm.batch = kBatch;
                        gemm.a = {on_a.as<void>(), a.rows(), kRows * kInner, a_transposed};
                        gemm.b = {on_b.as<void>(), b.rows(), kColumns * kInner, b_transposed};
                        gemm.result = {result.as<void>(), kRows, kRows * kColumns, false};
                        gemm.added = full ? result.as<void>() : nullptr;
                        gemm.bias = full ? on_bias.as<void>() : nullptr;
                        gemm.scale = full ? 1.0F : 0.25F;
                        const Buffer elsewhere = this->device_.template room<Out>(before.size());
                        const Buffer same = this->device_.template putRows<Out>(before.transpose());
                        if (full) {
                            Gemm apart = gemm;
                            apart.added = same.as<void>();
                            apart.result.data = elsewhere.as<void>();
                            this->queue_->device().multiply(apart, this->queue_->stream());
                        }
                        this->queue_->device().multiply(gemm, this->queue_->stream());
                        if (full) {
                            EXPECT_EQ(this->device_.template getRows<Out>(elsewhere, kRows),
                                      this->device_.template getRows<Out>(result, kRows))
                                << "the sum may be elsewhere";
                        }
                        M expected(kRows, kBatch * kColumns);
                        for (int i = 0; i < kBatch; ++i) {
                            const M left = a.middleCols(i * (a.cols() / kBatch), a.cols() / kBatch).cast<double>();
                            const M right = b.middleCols(i * (b.cols() / kBatch), b.cols() / kBatch).cast<double>();
                            M one = (a_transposed ? M(left.transpose()) : left) *
                                    (b_transposed ? M(right.transpose()) : right);
                            if (!full) one *= 0.25;
                            if (full) {
                                one += before.middleCols(i * kColumns, kColumns).template cast<double>();
                                one.colwise() += bias.col(0).template cast<double>();
                            }
                            expected.middleCols(i * kColumns, kColumns) = one;
                        }
                        EXPECT_LT(distance(this->device_.template getRows<Out>(result, kRows).transpose(), expected),
                                  kRounding<Out>)
                            << a_transposed << b_transposed << full;
                    }
                };
                if (exact) {
                    run(float{});
                } else {
                    run(T{});
                }
            }
        }
    }
}

class PlainKernels : public DeviceTest {};

TEST_F(PlainKernels, NumbersAreThoseOfTheHost) {
    const Synthetic synthetic(9);
    const std::vector<float> expected = synthetic.uniform(Synthetic::Stream::Weights, 4, 1000, 0.3F);
    const Buffer values = device_.room<float>(1000);
    queue_->launch(UniformKernel{values.as<float>(), 1000, synthetic.number(Synthetic::Stream::Weights, 4), 0.3F});
    const std::vector<float> made = device_.get<float>(values);
    EXPECT_TRUE(std::equal(made.begin(), made.end(), expected.begin()));
    queue_->launch(FillKernel{values.as<float>() + 10, 5, 2.5F});
    EXPECT_EQ(device_.get<float>(values)[14], 2.5F);
    EXPECT_EQ(device_.get<float>(values)[15], made[15]);
}

TEST_F(PlainKernels, TokensAreThoseOfTheHost) {
    const TextData text("short text of more than a few words");
    for (const auto& [begin, length, sequence] : {std::tuple{0, 12, 12}, {5, 7, 12}, {0, 90, 90}}) {
        const auto expected = text.sequences(3, 17, 6, 4, sequence);
        const std::string_view bytes = text.text();
        const Buffer on = device_.put(std::vector<char>(bytes.begin(), bytes.end()));
        const Buffer tokens = device_.put(std::vector<int>(static_cast<std::size_t>(4 * length), -1));
        const Buffer targets = device_.put(std::vector<int>(static_cast<std::size_t>(4 * length), -1));
        queue_->launch(TokensKernel{tokens.as<int>(), targets.as<int>(), on.as<unsigned char>(), on.bytes(),
                                    text.places(sequence), 3, static_cast<std::uint64_t>(Synthetic::Stream::Data), 17,
                                    6, 4, begin, length});
        const std::vector<int> made = device_.get<int>(tokens);
        const std::vector<int> next = device_.get<int>(targets);
        for (int s = 0; s < 4; ++s) {
            for (int i = 0; i < length; ++i) {
                const auto at = static_cast<std::size_t>(s * length + i);
                const auto in_text = static_cast<std::size_t>(s * sequence + begin + i);
                ASSERT_EQ(made[at], expected.tokens[in_text]);
                ASSERT_EQ(next[at], expected.targets[in_text]);
            }
        }
    }
}

TEST_F(PlainKernels, RoundsToNearestEvenAndKeepsWhatIsNoNumber) {
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> values{1.0F,    1.00390625F, 1.01171875F, -3.1415927F,
                                    3.4e38F, -inf,        1e-40F,      std::numeric_limits<float>::quiet_NaN()};
    const Buffer from = device_.put(values);
    const Buffer to = device_.room<Bf16>(8);
    queue_->launch(RoundKernel{to.as<Bf16>(), from.as<float>(), 8});
    std::vector<float> made;
    for (const Bf16 one : device_.get<Bf16>(to))
        made.push_back(load(one));
    EXPECT_EQ(made[0], 1.0F);
    EXPECT_EQ(made[1], 1.0F) << "a tie goes to the even one";
    EXPECT_EQ(made[2], 1.015625F);
    EXPECT_EQ(made[3], -3.140625F);
    EXPECT_EQ(made[4], inf) << "beyond the largest";
    EXPECT_EQ(made[5], -inf);
    EXPECT_NEAR(made[6], 1e-40F, 1e-41F);
    EXPECT_TRUE(std::isnan(made[7]));
}

TEST_F(PlainKernels, DigestsAreThoseOfTheHost) {
    constexpr std::int64_t kBlock = DigestKernel::kBlock * DigestKernel::kRun * DigestKernel::kWord;
    std::vector<unsigned char> data(static_cast<std::size_t>(2 * kBlock + 100));
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<unsigned char>(mixBits(i));
    const Buffer on = device_.put(data);
    DigestPages pages(*queue_);
    const auto expectThatOfTheHost = [&](std::int64_t from, std::int64_t bytes) {
        const DeviceDigest digest = pages.queue({on.as<unsigned char>() + from, bytes}, *queue_);
        const auto begin = data.begin() + from;
        EXPECT_EQ(digest.value(), digest::of(&*begin, static_cast<std::size_t>(bytes)))
            << bytes << " bytes from " << from;
    };
    for (std::int64_t bytes = 0; bytes < 70; ++bytes) {
        for (const std::int64_t from : {0, 1, 2, 3, 4, 6, 7, 8})
            expectThatOfTheHost(from, bytes);
    }
    for (const std::int64_t bytes : {kBlock - 1, kBlock, kBlock + 1, kBlock + 8, 2 * kBlock, 2 * kBlock + 90}) {
        for (const std::int64_t from : {0, 2, 4})
            expectThatOfTheHost(from, bytes);
    }
}

TEST_F(PlainKernels, DigestsOfAListAreThoseOfItsArrays) {
    constexpr std::int64_t kBlock = DigestKernel::kBlock * DigestKernel::kRun * DigestKernel::kWord;
    constexpr std::int64_t kRoom = 3 * kBlock;
    std::vector<unsigned char> data(static_cast<std::size_t>(kRoom));
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<unsigned char>(mixBits(i + 7));
    const Buffer on = device_.put(data);
    DigestPages pages(*queue_);
    const std::vector<std::int64_t> sizes{0, 8, 0, kBlock, 2 * kBlock + 5, 1, kBlock + 1, 0, 4096};
    // Lists that fill a launch, need several, and no longer fit into the rest of a page.
    for (const std::size_t count :
         {std::size_t{1}, std::size_t{9}, std::size_t{128}, std::size_t{129}, std::size_t{700}, std::size_t{700}}) {
        std::vector<DigestedArray> arrays;
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t bytes = i < sizes.size() ? sizes[i] : static_cast<std::int64_t>(i % 41);
            const std::int64_t from = static_cast<std::int64_t>(mixBits(i) % static_cast<std::uint64_t>(kRoom - bytes));
            arrays.push_back({on.as<unsigned char>() + from, bytes});
        }
        const std::vector<DeviceDigest> digests = pages.queue(arrays, *queue_);
        ASSERT_EQ(digests.size(), count);
        for (std::size_t i = 0; i < count; ++i) {
            const auto from = static_cast<const unsigned char*>(arrays[i].data) - on.as<unsigned char>();
            EXPECT_EQ(digests[i].value(), digest::of(data.data() + from, static_cast<std::size_t>(arrays[i].bytes)))
                << i << " of " << count;
        }
    }
}

TEST_F(PlainKernels, DigestTellsEveryBitAndPlace) {
    std::vector<std::uint32_t> words(41);
    for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = static_cast<std::uint32_t>(i * 2654435761U);
    DigestPages pages(*queue_);
    const auto digestOf = [&](const std::vector<std::uint32_t>& data) {
        const Buffer on = device_.put(data);
        return pages.queue({on.as<void>(), on.bytes()}, *queue_).value();
    };
    std::set<std::uint64_t> digests{digestOf(words)};
    for (std::size_t bit = 0; bit < 32 * words.size(); ++bit) {
        std::vector<std::uint32_t> flipped = words;
        flipped[bit / 32] ^= 1U << (bit % 32);
        EXPECT_TRUE(digests.insert(digestOf(flipped)).second) << "bit " << bit;
    }
    for (const auto& [one, other] : {std::pair{0U, 1U}, {0U, 2U}, {3U, 40U}, {4U, 17U}}) {
        std::vector<std::uint32_t> swapped = words;
        std::swap(swapped[one], swapped[other]);
        EXPECT_TRUE(digests.insert(digestOf(swapped)).second) << "words " << one << " and " << other;
    }
}

TEST_F(PlainKernels, StrikesFlipWhatTheySay) {
    std::vector<float> values(100, 1.0F);
    const Buffer exact = device_.put(values);
    DeviceTensor floats(*queue_, *queue_, exact.as<void>(), 100, Storage::Float, nullptr);
    floats.flip(7, 31);
    EXPECT_EQ(device_.get<float>(exact)[7], -1.0F);
    std::vector<Bf16> halves(100);
    for (Bf16& half : halves)
        store(half, 1.0F);
    const Buffer rounded = device_.put(halves);
    DeviceTensor bf16(*queue_, *queue_, rounded.as<void>(), 100, Storage::Bf16, nullptr);
    bf16.flip(9, 31);
    EXPECT_EQ(load(device_.get<Bf16>(rounded)[9]), -1.0F);
    bf16.flip(9, 15);
    EXPECT_EQ(load(device_.get<Bf16>(rounded)[9]), 1.0F);
    HostTensor(values.data(), 100).disturb(5);
    floats.flip(7, 31);
    floats.disturb(5);
    EXPECT_EQ(device_.get<float>(exact), values) << "as on the host";
    EXPECT_GT(std::ranges::count_if(values, [](float value) { return value != 1.0F; }), 20);
}

TEST_F(PlainKernels, AStreamIsHeldForItsTime) {
    const auto queue = queue_;
    queue->beginStep();
    for (const int micros : {200, 3000}) {
        queue->beginOp(0, TimeNs{micros * 1000}, 0);
        queue->endOp();
    }
    const auto times = queue->finishOps();
    ASSERT_EQ(times.size(), 2U);
    EXPECT_GE((times[0].op.end - times[0].op.begin).count(), 199'000);
    EXPECT_GE((times[1].op.end - times[1].op.begin).count(), 2'999'000);
    EXPECT_GE(times[1].op.begin, times[0].op.end);
}

} // namespace
} // namespace bubblescope::runtime::test
