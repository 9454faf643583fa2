#include "runtime/model/linear.h"

#include <stdexcept>
#include <utility>

namespace bubblescope::runtime {
namespace {

constexpr float kSqrtTwoOverPi = 0.797884560802865F;
constexpr float kCubic = 0.044715F;

} // namespace

Tensor apply(const Linear& linear, const Tensor& input) {
    Tensor output = input * linear.weight;
    output.rowwise() += linear.bias;
    return output;
}

Tensor inputGradient(const Linear& linear, const Tensor& output_grad) {
    return output_grad * linear.weight.transpose();
}

Linear weightGradient(const Tensor& input, const Tensor& output_grad) {
    return {input.transpose() * output_grad, output_grad.colwise().sum()};
}

Tensor gelu(const Tensor& x) {
    const auto a = x.array();
    return 0.5F * a * (1.0F + (kSqrtTwoOverPi * (a + kCubic * a.cube())).tanh());
}

Tensor geluDerivative(const Tensor& x) {
    const auto a = x.array();
    const Eigen::ArrayXXf t = (kSqrtTwoOverPi * (a + kCubic * a.cube())).tanh();
    return 0.5F * (1.0F + t) + 0.5F * a * (1.0F - t.square()) * (kSqrtTwoOverPi * (1.0F + 3.0F * kCubic * a.square()));
}

void GradientSum::add(int microbatch, std::vector<Linear> gradients) {
    if (microbatch != next_) {
        early_.insert_or_assign(microbatch, std::move(gradients));
        return;
    }
    addNext(std::move(gradients));
    for (auto at = early_.find(next_); at != early_.end(); at = early_.find(next_)) {
        addNext(std::move(at->second));
        early_.erase(at);
    }
}

void GradientSum::addNext(std::vector<Linear> gradients) {
    if (next_++ == 0) {
        sum_ = std::move(gradients);
        return;
    }
    for (std::size_t i = 0; i < sum_.size(); ++i) {
        sum_[i].weight += gradients[i].weight;
        sum_[i].bias += gradients[i].bias;
    }
}

std::vector<Linear> GradientSum::take(int count) {
    if (next_ != count || !early_.empty()) throw std::logic_error("a micro-batch's weight gradient is missing");
    next_ = 0;
    return std::exchange(sum_, {});
}

} // namespace bubblescope::runtime
