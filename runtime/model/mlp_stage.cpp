#include "runtime/model/mlp_stage.h"

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace bubblescope::runtime {
namespace {

constexpr std::uint64_t kFnvPrime = 0x100000001B3ULL;

template <class Dense>
std::uint64_t hashBytes(std::uint64_t hash, const Dense& values) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(values.data());
    const std::size_t count = static_cast<std::size_t>(values.size()) * sizeof(float);
    for (std::size_t i = 0; i < count; ++i)
        hash = (hash ^ bytes[i]) * kFnvPrime;
    return hash;
}

} // namespace

MlpStage::MlpStage(const ModelConfig& config, Stage stage, int stages, int microbatches)
    : config_(config), microbatches_(microbatches), first_(stage.value == 0), last_(stage.value == stages - 1),
      losses_(static_cast<std::size_t>(microbatches), 0.0) {
    const Synthetic synthetic(config.seed);
    constexpr std::uint64_t kLinearsOfOneStage = std::uint64_t{1} << 20;
    const float scale = 0.5F / std::sqrt(static_cast<float>(config.width));
    const std::size_t linears = blocks() + (last_ ? 1 : 0);
    for (std::size_t i = 0; i < linears; ++i) {
        const Eigen::Index outputs = i < blocks() ? config.width : 1;
        const std::uint64_t index = static_cast<std::uint64_t>(stage.value) * kLinearsOfOneStage + i;
        parameters_.push_back({synthetic.uniform(Synthetic::Stream::Weights, index, config.width, outputs, scale),
                               Eigen::RowVectorXf::Zero(outputs)});
    }
    if (!first_ && !last_) return;
    for (int m = 0; m < microbatches; ++m)
        data_.push_back(syntheticSamples(config.seed, Microbatch{m}, config.rows, config.width));
}

Tensor MlpStage::forward(Microbatch microbatch, Tensor input) {
    Tensor x = first_ ? data_[microbatch.index()].inputs : std::move(input);
    Kept keep;
    for (std::size_t i = 0; i < blocks(); ++i) {
        Tensor u = apply(parameters_[i], x);
        Tensor y = x + gelu(u);
        keep.inputs.push_back(std::exchange(x, std::move(y)));
        keep.activated.push_back(std::move(u));
    }
    if (last_) {
        const Tensor difference = apply(parameters_.back(), x) - data_[microbatch.index()].targets;
        losses_[microbatch.index()] = difference.cast<double>().squaredNorm() / static_cast<double>(difference.size());
        keep.loss_grad = difference * (2.0F / static_cast<float>(difference.size()));
        keep.inputs.push_back(std::exchange(x, Tensor()));
    }
    kept_.insert_or_assign(microbatch, std::move(keep));
    return x;
}

Tensor MlpStage::backwardInput(Microbatch microbatch, Tensor output_grad) {
    Kept& keep = kept(microbatch);
    keep.output_grads.resize(parameters_.size());
    Tensor grad = std::move(output_grad);
    if (last_) {
        grad = inputGradient(parameters_.back(), keep.loss_grad);
        keep.output_grads.back() = std::move(keep.loss_grad);
    }
    for (std::size_t i = blocks(); i-- > 0;) {
        Tensor u_grad = grad.cwiseProduct(geluDerivative(keep.activated[i]));
        grad += inputGradient(parameters_[i], u_grad);
        keep.output_grads[i] = std::move(u_grad);
    }
    keep.activated.clear();
    return grad;
}

void MlpStage::backwardWeight(Microbatch microbatch) {
    const Kept& keep = kept(microbatch);
    if (keep.output_grads.empty()) throw std::logic_error("the weight gradient was asked for before the input's");
    std::vector<Linear> gradients;
    gradients.reserve(parameters_.size());
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        gradients.push_back(weightGradient(keep.inputs[i], keep.output_grads[i]));
    gradients_.add(microbatch.value, std::move(gradients));
    kept_.erase(microbatch);
}

void MlpStage::applyGradients() {
    const std::vector<Linear> sum = takeGradients();
    const float rate = config_.learning_rate / static_cast<float>(microbatches_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        parameters_[i].weight -= rate * sum[i].weight;
        parameters_[i].bias -= rate * sum[i].bias;
    }
}

double MlpStage::takeLoss() {
    if (!last_) return 0.0;
    double sum = 0.0;
    for (double& loss : losses_)
        sum += std::exchange(loss, 0.0);
    return sum / static_cast<double>(microbatches_);
}

std::uint64_t MlpStage::digest(std::uint64_t hash) const {
    for (const Linear& linear : parameters_)
        hash = hashBytes(hashBytes(hash, linear.weight), linear.bias);
    return hash;
}

MlpStage::Kept& MlpStage::kept(Microbatch microbatch) {
    const auto found = kept_.find(microbatch);
    if (found == kept_.end()) throw std::logic_error("a backward op came before its forward op");
    return found->second;
}

} // namespace bubblescope::runtime
