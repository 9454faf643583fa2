#include "runtime/model/gpt_stage.h"

#include "runtime/model/stage_layout.h"
#include "runtime/model/synthetic.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace bubblescope::runtime {
namespace {

template <class Dense>
std::uint64_t hashBytes(std::uint64_t hash, const Dense& values) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(values.data());
    const std::size_t count = static_cast<std::size_t>(values.size()) * sizeof(float);
    for (std::size_t i = 0; i < count; ++i)
        hash = (hash ^ bytes[i]) * kFnvPrime;
    return hash;
}

} // namespace

GptStage::GptStage(const ModelConfig& config, StageTask task)
    : config_(config), task_(std::move(task)), first_(task_.place == 0), last_(task_.place == task_.places - 1),
      optimizer_(config.optimizer), gradients_(task_.pieces) {
    initialise();
}

void GptStage::initialise() {
    const Synthetic synthetic(config_.seed);
    for (const PartLayout& part : stageLayout(config_, task_)) {
        Matrix<float> weight =
            part.ones ? Matrix<float>::Ones(part.rows, part.columns).eval()
                      : synthetic.uniform(Synthetic::Stream::Weights, part.name, part.rows, part.columns, part.scale);
        parameters_.push_back(
            {shardOf(std::move(weight), part, task_.shard), Row<float>::Zero(biasesOf(part, task_.shard))});
        decays_.push_back(part.decays);
    }
}

GptStage::Block GptStage::block(int i) const {
    const std::size_t first = firstBlock() + static_cast<std::size_t>(i) * Block::kParts;
    return {std::span(parameters_).subspan(first, Block::kParts),
            {config_.batch, config_.heads / task_.shard.size},
            task_.shard.size > 1 ? task_.shard.sums : nullptr};
}

GptStage::Tokens GptStage::tokensOf(Piece piece) const {
    const auto data = config_.text->sequences(config_.seed, step_, piece.sample.value, config_.batch, config_.sequence);
    const int begin = config_.sequence * piece.slice / task_.slices;
    const int end = config_.sequence * (piece.slice + 1) / task_.slices;
    Tokens result;
    for (int sequence = 0; sequence < config_.batch; ++sequence) {
        for (int position = begin; position < end; ++position) {
            const auto at = static_cast<std::size_t>(sequence * config_.sequence + position);
            result.tokens.push_back(data.tokens[at]);
            result.targets.push_back(data.targets[at]);
            result.positions.push_back(position);
        }
    }
    return result;
}

Matrix<float> GptStage::embed(Piece piece) const {
    const Tokens tokens = tokensOf(piece);
    Matrix<float> output(static_cast<Eigen::Index>(tokens.tokens.size()), config_.width);
    for (std::size_t i = 0; i < tokens.tokens.size(); ++i) {
        output.row(static_cast<Eigen::Index>(i)) =
            parameters_[0].weight.row(tokens.tokens[i]) + parameters_[1].weight.row(tokens.positions[i]);
    }
    return output;
}

Parameters<float> GptStage::embeddingGradient(Piece piece, const Matrix<float>& grad) const {
    const Tokens tokens = tokensOf(piece);
    Parameters<float> result(2);
    for (std::size_t table = 0; table < 2; ++table) {
        result[table].weight = Matrix<float>::Zero(parameters_[table].weight.rows(), config_.width);
        const std::vector<int>& rows = table == 0 ? tokens.tokens : tokens.positions;
        for (std::size_t i = 0; i < rows.size(); ++i)
            result[table].weight.row(rows[i]) += grad.row(static_cast<Eigen::Index>(i));
    }
    return result;
}

void GptStage::finish(Piece piece, const Matrix<float>& output, Kept& keep) {
    const std::size_t head = parameters_.size() - 1;
    keep.normalised = normalise(output);
    const float share = 1.0F / static_cast<float>(config_.batch * config_.sequence);
    auto loss = crossEntropy(apply(parameters_[head], scaled(parameters_[head - 1], keep.normalised.values)),
                             tokensOf(piece).targets, share);
    losses_[piece] = loss.sum / static_cast<double>(config_.batch * config_.sequence);
    keep.logits_grad = std::move(loss.logits_grad);
}

Tensor GptStage::forward(Piece piece, Tensor input) {
    Matrix<float> x = first_ ? embed(piece) : std::move(input).host();
    Kept keep;
    keep.blocks.resize(static_cast<std::size_t>(config_.layersAt(task_.place)));
    for (std::size_t i = 0; i < keep.blocks.size(); ++i)
        x = block(static_cast<int>(i)).forward(std::move(x), earlierSlices(piece, i), keep.blocks[i]);
    if (last_) {
        finish(piece, x, keep);
        x.resize(0, 0);
    }
    kept_bytes_ += keep.bytes();
    kept_.insert_or_assign(piece, std::move(keep));
    return x;
}

Tensor GptStage::backwardInput(Piece piece, Tensor output_grad) {
    Kept& keep = kept(piece);
    // Later slices' gradients may have grown what earlier ones keep: count it where it is used.
    kept_bytes_ -= keep.bytes();
    Matrix<float> grad = std::move(output_grad).host();
    if (last_) {
        const std::size_t head = parameters_.size() - 1;
        keep.normalised_grad = inputGradient(parameters_[head], keep.logits_grad);
        grad = normInputGradient(parameters_[head - 1], keep.normalised, keep.normalised_grad);
        keep.normalised.inverse_deviations.resize(0);
    }
    for (std::size_t i = keep.blocks.size(); i-- > 0;) {
        const std::vector<Block::Kept*> earlier = earlierSlices(piece, i);
        for (Block::Kept* const slice : earlier)
            kept_bytes_ -= bytesOf(slice->later_grad);
        grad = block(static_cast<int>(i)).backwardInput(std::move(grad), earlier, keep.blocks[i]);
        for (Block::Kept* const slice : earlier)
            kept_bytes_ += bytesOf(slice->later_grad);
    }
    keep.returned = true;
    if (first_) keep.embedding_grad = std::exchange(grad, {});
    kept_bytes_ += keep.bytes();
    return grad;
}

void GptStage::backwardWeight(Piece piece) {
    const Kept& keep = kept(piece);
    if (!keep.returned) throw std::logic_error("the weight gradient was asked for before the input's");
    Parameters<float> gradients;
    const auto append = [&](Parameters<float> more) { std::ranges::move(more, std::back_inserter(gradients)); };
    if (first_) append(embeddingGradient(piece, keep.embedding_grad));
    for (std::size_t i = 0; i < keep.blocks.size(); ++i)
        append(block(static_cast<int>(i)).backwardWeight(keep.blocks[i]));
    if (last_) {
        const Weights<float>& norm = parameters_[parameters_.size() - 2];
        gradients.push_back(normWeightGradient(keep.normalised.values, keep.normalised_grad));
        gradients.push_back(weightGradient(scaled(norm, keep.normalised.values), keep.logits_grad));
    }
    gradients_.add(piece, std::move(gradients));
    kept_bytes_ -= keep.bytes();
    kept_.erase(piece);
}

Tensor GptStage::takeGradient() {
    Matrix<float> column = Matrix<float>::Zero(parameterCount(), 1);
    Eigen::Index at = 0;
    const auto append = [&](const auto& values) {
        std::copy_n(values.data(), values.size(), column.data() + at);
        at += values.size();
    };
    for (const Weights<float>& part : gradients_.take()) { // none where no micro-batch passes
        append(part.weight);
        append(part.bias);
    }
    return column;
}

void GptStage::applyGradient(const Tensor& sum) {
    optimizer_.step(runs(), sum.host() / static_cast<float>(task_.microbatches));
    ++step_;
}

double GptStage::takeLoss() {
    double sum = 0.0;
    for (const Piece piece : task_.pieces) {
        const auto loss = losses_.find(piece);
        if (loss != losses_.end()) sum += loss->second;
    }
    losses_.clear();
    return sum / static_cast<double>(task_.microbatches);
}

int GptStage::sumsIn(OpKind kind) const {
    const bool adds = kind == OpKind::Forward || producesInputGradient(kind);
    return adds && task_.shard.size > 1 ? Block::kSums * config_.layersAt(task_.place) : 0;
}

MemoryUse GptStage::memory() const {
    const std::int64_t weights = parameterCount() * static_cast<std::int64_t>(sizeof(float));
    return {weights, weights * gradients_.held(), optimizer_.bytes(), kept_bytes_};
}

std::uint64_t GptStage::digest(std::uint64_t hash) const {
    for (const Weights<float>& part : parameters_)
        hash = hashBytes(hashBytes(hash, part.weight), part.bias);
    return hash;
}

GptStage::Kept& GptStage::kept(Piece piece) {
    const auto found = kept_.find(piece);
    if (found == kept_.end()) throw std::logic_error("a backward op came before its forward op");
    return found->second;
}

std::vector<GptStage::Block::Kept*> GptStage::earlierSlices(Piece piece, std::size_t block) {
    std::vector<Block::Kept*> earlier;
    for (int slice = 0; slice < piece.slice; ++slice) {
        const auto found = kept_.find({piece.sample, slice});
        if (found == kept_.end() || found->second.returned)
            throw std::logic_error("the slices of a sequence must pass a stage in order and come back in reverse");
        earlier.push_back(&found->second.blocks[block]);
    }
    return earlier;
}

std::vector<ParameterRun> GptStage::runs() {
    std::vector<ParameterRun> runs;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        Weights<float>& part = parameters_[i];
        runs.push_back({part.weight.data(), part.weight.size(), decays_[i]});
        runs.push_back({part.bias.data(), part.bias.size(), false});
    }
    return runs;
}

std::int64_t GptStage::parameterCount() const {
    std::int64_t count = 0;
    for (const Weights<float>& part : parameters_)
        count += part.weight.size() + part.bias.size();
    return count;
}

std::int64_t GptStage::Kept::bytes() const {
    std::int64_t sum = bytesOf(embedding_grad) + normalised.bytes() + bytesOf(logits_grad) + bytesOf(normalised_grad);
    for (const Block::Kept& block : blocks)
        sum += block.bytes();
    return sum;
}

} // namespace bubblescope::runtime
