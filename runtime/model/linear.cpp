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

void GradientSum::add(Piece piece, std::vector<Linear> gradients) {
    if (next_ == order_.size() || piece != order_[next_]) {
        early_.insert_or_assign(piece, std::move(gradients));
        return;
    }
    addNext(std::move(gradients));
    while (next_ < order_.size()) {
        const auto waiting = early_.find(order_[next_]);
        if (waiting == early_.end()) return;
        addNext(std::move(waiting->second));
        early_.erase(waiting);
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

std::vector<Linear> GradientSum::take() {
    if (next_ != order_.size() || !early_.empty()) {
        throw std::logic_error("a micro-batch's weight gradient is missing");
    }
    next_ = 0;
    return std::exchange(sum_, {});
}

} // namespace bubblescope::runtime
