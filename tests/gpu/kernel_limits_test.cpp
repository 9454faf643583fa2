// Kernels on arrays that are not aligned, and on numbers at the ends of what floats hold.

#include "runtime/backend/rank_queue.h"
#include "tests/gpu/test_device.h"
#include "tests/support/reference_model.h"

#include <cmath>
#include <limits>

namespace bubblescope::runtime::test {
namespace {

using M = Matrix<double>;

template <class T>
class KernelLimits : public DeviceTest {};

TYPED_TEST_SUITE(KernelLimits, Storages);

/// Arrays that begin one number after where a GPU could access 16 bytes at a time.
TYPED_TEST(KernelLimits, WhereArraysBeginChangesNoBits) {
    using T = TypeParam;
    constexpr Eigen::Index kTokens = 37;
    for (const Eigen::Index width : {768, 1600}) {
        const Eigen::Index size = kTokens * width;
        const std::vector<float> ones(static_cast<std::size_t>(width), 1.0F);
        const auto of = [&](Eigen::Index begin) {
            const auto shifted = [&]<class S>(const Matrix<float>& matrix, S /*storage*/) {
                std::vector<S> values(static_cast<std::size_t>(begin + matrix.size()));
                for (Eigen::Index i = 0; i < matrix.size(); ++i)
                    store(values[static_cast<std::size_t>(begin + i)], matrix.data()[i]);
                return this->device_.put(values);
            };
            Numbers numbers(11);
            const Buffer input = shifted(numbers.matrix(kTokens, width), T{});
            const Buffer grad = shifted(numbers.matrix(kTokens, width), T{});
            const Buffer gain = shifted(numbers.matrix(1, width), float{});
            const Buffer bias = shifted(numbers.matrix(1, width), float{});
            const Matrix<float> none = Matrix<float>::Zero(kTokens, width);
            const Buffer values = shifted(none, T{});
            const Buffer output = shifted(none, T{});
            const Buffer scaled = shifted(none, T{});
            const Buffer input_grad = shifted(none, T{});
            const Buffer gain_grad = this->device_.put(ones);
            const Buffer bias_grad = this->device_.put(ones);
            const Buffer inverse = this->device_.template room<float>(kTokens);
            this->queue_->launch(NormaliseAndScaleKernel<T>{
                {values.as<T>() + begin, inverse.as<float>(), input.as<T>() + begin, kTokens, width},
                output.as<T>() + begin,
                gain.as<float>() + begin,
                bias.as<float>() + begin});
            this->queue_->launch(ScaleKernel<T>{scaled.as<T>() + begin, values.as<T>() + begin,
                                                gain.as<float>() + begin, bias.as<float>() + begin, kTokens, width});
            this->queue_->launch(NormGradientKernel<T>{input_grad.as<T>() + begin, input.as<T>() + begin,
                                                       grad.as<T>() + begin, values.as<T>() + begin,
                                                       inverse.as<float>(), gain.as<float>() + begin, kTokens, width});
            this->queue_->launch(NormWeightGradientKernel<T>{gain_grad.as<float>(), bias_grad.as<float>(),
                                                             values.as<T>() + begin, grad.as<T>() + begin, kTokens,
                                                             width, gain_grad.as<float>(), bias_grad.as<float>()});
            std::vector<float> results;
            for (const Buffer* const made : {&values, &output, &scaled, &input_grad}) {
                const std::vector<T> all = this->device_.template get<T>(*made);
                for (Eigen::Index i = 0; i < size; ++i)
                    results.push_back(load(all[static_cast<std::size_t>(begin + i)]));
            }
            for (const Buffer* const made : {&inverse, &gain_grad, &bias_grad}) {
                const std::vector<float> all = this->device_.template get<float>(*made);
                results.insert(results.end(), all.begin(), all.end());
            }
            return results;
        };
        const std::vector<float> aligned = of(0);
        EXPECT_TRUE(aligned == of(1)) << width;
        for (Eigen::Index i = 0; i < size; ++i)
            ASSERT_EQ(aligned[static_cast<std::size_t>(size + i)], aligned[static_cast<std::size_t>(2 * size + i)])
                << "scaling at once and afterwards";
    }
}

TYPED_TEST(KernelLimits, GeluOfWhatIsLargeSmallOrNoNumber) {
    using T = TypeParam;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Matrix<float> before{{0.0F, 1e-30F, -1e-3F, -4.0F, -100.0F, 100.0F, 1e10F, -1e10F, nan}};
    const Buffer on = this->device_.template putRows<T>(before);
    const Buffer output = this->device_.template room<T>(before.size());
    this->queue_->launch(GeluKernel<T>{output.as<T>(), on.as<T>(), before.size()});
    const Matrix<float> made = this->device_.template getRows<T>(output, before.size());
    const Matrix<float> slopes = Matrix<float>::Ones(1, before.size());
    const Buffer grads = this->device_.template putRows<T>(slopes);
    this->queue_->launch(GeluGradientKernel<T>{grads.as<T>(), on.as<T>(), before.size()});
    const Matrix<float> grad = this->device_.template getRows<T>(grads, before.size());
    const Matrix<double> rounded_before = rounded<T>(before).template cast<double>();
    const M expected = reference::gelu<double>(rounded_before);
    const M expected_grad = reference::geluDerivative<double>(rounded_before);
    for (Eigen::Index i = 0; i + 1 < before.size(); ++i) {
        EXPECT_NEAR(made(0, i), expected(0, i), kRounding<T> * (1.0 + std::abs(expected(0, i)))) << before(0, i);
        if (std::abs(before(0, i)) > 100.0F) continue; // its square times 0 is no number
        EXPECT_NEAR(grad(0, i), expected_grad(0, i), 2 * kRounding<T>) << before(0, i);
    }
    EXPECT_TRUE(std::isnan(made(0, before.size() - 1)));
    EXPECT_TRUE(std::isnan(grad(0, before.size() - 1)));
}

} // namespace
} // namespace bubblescope::runtime::test
