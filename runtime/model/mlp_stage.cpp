#include "runtime/model/mlp_stage.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <type_traits>
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

MlpStage::MlpStage(const ModelConfig& config, StageTask task)
    : config_(config), task_(std::move(task)), first_(task_.place == 0), last_(task_.place == task_.places - 1),
      gradients_(task_.pieces) {
    const Synthetic synthetic(config.seed);
    constexpr std::uint64_t kHead = std::uint64_t{1} << 40; // beyond any block's number
    const float scale = 0.5F / std::sqrt(static_cast<float>(config.width));
    const std::size_t linears = blocks() + (last_ ? 1 : 0);
    for (std::size_t i = 0; i < linears; ++i) {
        const Eigen::Index outputs = i < blocks() ? config.width : 1;
        const std::uint64_t index = i < blocks() ? static_cast<std::uint64_t>(task_.place) * blocks() + i : kHead;
        parameters_.push_back({synthetic.uniform(Synthetic::Stream::Weights, index, config.width, outputs, scale),
                               Eigen::RowVectorXf::Zero(outputs)});
    }
    if (!first_ && !last_) return;
    for (const Piece piece : task_.pieces) {
        if (data_.contains(piece.sample)) continue;
        data_.emplace(piece.sample, syntheticSamples(config.seed, piece.sample, config.rows, config.width));
    }
}

Tensor MlpStage::forward(Piece piece, Tensor input) {
    Tensor x = first_ ? rowsOf(data_.at(piece.sample).inputs, piece.slice) : std::move(input);
    Kept keep;
    for (std::size_t i = 0; i < blocks(); ++i) {
        Tensor u = apply(parameters_[i], x);
        Tensor y = x + gelu(u);
        keep.inputs.push_back(std::exchange(x, std::move(y)));
        keep.activated.push_back(std::move(u));
    }
    if (last_) {
        const Tensor& targets = data_.at(piece.sample).targets;
        const Tensor difference = apply(parameters_.back(), x) - rowsOf(targets, piece.slice);
        losses_[piece] = difference.cast<double>().squaredNorm() / static_cast<double>(targets.size());
        keep.loss_grad = difference * (2.0F / static_cast<float>(targets.size()));
        keep.inputs.push_back(std::exchange(x, Tensor()));
    }
    kept_bytes_ += keep.bytes();
    kept_.insert_or_assign(piece, std::move(keep));
    return x;
}

Tensor MlpStage::backwardInput(Piece piece, Tensor output_grad) {
    Kept& keep = kept(piece);
    kept_bytes_ -= keep.bytes();
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
    kept_bytes_ += keep.bytes();
    return grad;
}

void MlpStage::backwardWeight(Piece piece) {
    const Kept& keep = kept(piece);
    if (keep.output_grads.empty()) throw std::logic_error("the weight gradient was asked for before the input's");
    std::vector<Linear> gradients;
    gradients.reserve(parameters_.size());
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        gradients.push_back(weightGradient(keep.inputs[i], keep.output_grads[i]));
    gradients_.add(piece, std::move(gradients));
    kept_bytes_ -= keep.bytes();
    kept_.erase(piece);
}

Tensor MlpStage::takeGradient() {
    Tensor column = Tensor::Zero(parameterCount(), 1);
    Eigen::Index at = 0;
    const auto append = [&](const auto& values) {
        std::copy_n(values.data(), values.size(), column.data() + at);
        at += values.size();
    };
    for (const Linear& linear : gradients_.take()) { // none where no micro-batch passes
        append(linear.weight);
        append(linear.bias);
    }
    return column;
}

void MlpStage::applyGradient(const Tensor& sum) {
    const float rate = config_.learning_rate / static_cast<float>(task_.microbatches);
    Eigen::Index at = 0;
    const auto update = [&](auto& values) {
        using Values = std::remove_reference_t<decltype(values)>;
        values -= rate * Eigen::Map<const Values>(sum.data() + at, values.rows(), values.cols());
        at += values.size();
    };
    for (Linear& linear : parameters_) {
        update(linear.weight);
        update(linear.bias);
    }
}

double MlpStage::takeLoss() {
    double sum = 0.0;
    for (const Piece piece : task_.pieces) {
        const auto loss = losses_.find(piece);
        if (loss != losses_.end()) sum += loss->second;
    }
    losses_.clear();
    return sum / static_cast<double>(task_.microbatches);
}

MemoryUse MlpStage::memory() const {
    const std::int64_t weights = parameterCount() * static_cast<std::int64_t>(sizeof(float));
    return {weights, weights * gradients_.held(), kept_bytes_};
}

std::uint64_t MlpStage::digest(std::uint64_t hash) const {
    for (const Linear& linear : parameters_)
        hash = hashBytes(hashBytes(hash, linear.weight), linear.bias);
    return hash;
}

MlpStage::Kept& MlpStage::kept(Piece piece) {
    const auto found = kept_.find(piece);
    if (found == kept_.end()) throw std::logic_error("a backward op came before its forward op");
    return found->second;
}

Eigen::Index MlpStage::parameterCount() const {
    Eigen::Index count = 0;
    for (const Linear& linear : parameters_)
        count += linear.weight.size() + linear.bias.size();
    return count;
}

std::int64_t MlpStage::Kept::bytes() const {
    std::int64_t sum = bytesOf(loss_grad);
    for (const auto* tensors : {&inputs, &activated, &output_grads}) {
        for (const Tensor& tensor : *tensors)
            sum += bytesOf(tensor);
    }
    return sum;
}

Tensor MlpStage::rowsOf(const Tensor& sample, int slice) const {
    const Eigen::Index begin = sample.rows() * slice / task_.slices;
    const Eigen::Index end = sample.rows() * (slice + 1) / task_.slices;
    return sample.middleRows(begin, end - begin);
}

} // namespace bubblescope::runtime
