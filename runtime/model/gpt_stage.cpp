#include "runtime/model/gpt_stage.h"

#include "runtime/model/known_answers.h"
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

/// What an op takes of the slices before its own.
void keepSlices(std::span<TransformerBlock<float>::Kept* const> earlier, GptReplay& replay) {
    for (const auto* const slice : earlier) {
        auto& copy = replay.earlier.emplace_back();
        copy.columns = slice->columns;
        copy.later_grad = slice->later_grad;
    }
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

GptStage::Block GptStage::block(int i, ShardSums<float>* sums, LayerProbe* probe) const {
    return {blockWeights(i), shape(), sums, probe};
}

std::span<Weights<float>> GptStage::partsOf(int layer) {
    const std::span all(parameters_);
    if (layer == 0) return all.first(2);
    const int i = layer - 1 - config_.layersBefore(task_.place);
    if (i >= config_.layersAt(task_.place)) return all.last(2);
    return all.subspan(firstBlock() + static_cast<std::size_t>(i) * Block::kParts, Block::kParts);
}

LayerRange GptStage::layers() const {
    const int first = first_ ? 0 : 1 + config_.layersBefore(task_.place);
    return {first, config_.layersAt(task_.place) + (first_ ? 1 : 0) + (last_ ? 1 : 0)};
}

void GptStage::showWeights(int layer, LayerProbe& probe) {
    runtime::showWeights(&probe, CheckedTensor::Weights, partsOf(layer));
}

void GptStage::computeKnown(CheckedTensor tensor, LayerProbe& probe) {
    runtime::computeKnown(tensor, probe);
}

PieceTokens GptStage::tokensOf(Piece piece) const {
    const auto data = config_.text->sequences(config_.seed, step_, piece.sample.value, config_.batch, config_.sequence);
    const int begin = config_.sequence * piece.slice / task_.slices;
    const int end = config_.sequence * (piece.slice + 1) / task_.slices;
    PieceTokens result;
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

class GptStage::Watched {
public:
    Watched(GptStage& stage, LayerPart part, GptReplay::Layer layer, int number,
            std::span<const Weights<float>> weights)
        : watch_(stage.task_.watch), sums_(stage.task_.shard.size > 1 ? stage.task_.shard.sums : nullptr) {
        if (watch_ == nullptr || !watch_->begin({part, number})) return;
        replay_ = std::make_unique<GptReplay>(part, layer, weights);
        replay_->shape = stage.shape();
        if (sums_ == nullptr) return;
        replay_->shared = true;
        sums_ = &recorded_.emplace(*sums_, replay_->sums);
    }

    /// To be filled with the inputs; null where nothing is kept.
    [[nodiscard]] GptReplay* replay() { return replay_.get(); }
    [[nodiscard]] LayerProbe* probe() { return watch_; }
    [[nodiscard]] ShardSums<float>* sums() { return sums_; }

    template <class Computed>
    Computed end(Computed computed) {
        if (watch_ != nullptr) watch_->end(std::move(replay_));
        return computed;
    }

private:
    LayerWatch* watch_;
    std::unique_ptr<GptReplay> replay_;
    ShardSums<float>* sums_;
    std::optional<RecordedSums> recorded_;
};

Matrix<float> GptStage::forwardEmbedding(Piece piece) {
    const PieceTokens data = tokensOf(piece);
    Watched watched(*this, LayerPart::Forward, GptReplay::Layer::Embedding, 0, tables());
    if (auto* const replay = watched.replay()) replay->tokens = data;
    return watched.end(embed(tables(), data, watched.probe()));
}

Matrix<float> GptStage::forwardBlock(Piece piece, int i, Matrix<float> input, Kept& keep) {
    const auto at = static_cast<std::size_t>(i);
    const std::vector<Block::Kept*> earlier = earlierSlices(piece, at);
    Watched watched(*this, LayerPart::Forward, GptReplay::Layer::Block, blockNumber(i), blockWeights(i));
    if (auto* const replay = watched.replay()) {
        replay->input = input;
        keepSlices(earlier, *replay);
    }
    return watched.end(block(i, watched.sums(), watched.probe()).forward(std::move(input), earlier, keep.blocks[at]));
}

void GptStage::forwardHead(Piece piece, const Matrix<float>& output, Kept& keep) {
    const float share = 1.0F / static_cast<float>(config_.batch * config_.sequence);
    const PieceTokens data = tokensOf(piece);
    Watched watched(*this, LayerPart::Forward, GptReplay::Layer::Head, headNumber(), headParts());
    if (auto* const replay = watched.replay()) {
        replay->input = output;
        replay->tokens = data;
        replay->share = share;
    }
    const double sum = watched.end(headForward(headParts(), data, share, output, keep.head, watched.probe()));
    losses_[piece] = sum / static_cast<double>(config_.batch * config_.sequence);
}

Matrix<float> GptStage::backwardHead(Kept& keep) {
    Watched watched(*this, LayerPart::InputGradient, GptReplay::Layer::Head, headNumber(), headParts());
    if (auto* const replay = watched.replay()) replay->head = keep.head;
    return watched.end(headInputGradient(headParts(), keep.head, watched.probe()));
}

Matrix<float> GptStage::backwardBlock(Piece piece, int i, Matrix<float> grad, Kept& keep) {
    const auto at = static_cast<std::size_t>(i);
    const std::vector<Block::Kept*> earlier = earlierSlices(piece, at);
    Watched watched(*this, LayerPart::InputGradient, GptReplay::Layer::Block, blockNumber(i), blockWeights(i));
    if (auto* const replay = watched.replay()) {
        replay->input = grad;
        replay->kept = keep.blocks[at];
        keepSlices(earlier, *replay);
    }
    for (Block::Kept* const slice : earlier)
        kept_bytes_ -= bytesOf(slice->later_grad);
    grad = block(i, watched.sums(), watched.probe()).backwardInput(std::move(grad), earlier, keep.blocks[at]);
    for (Block::Kept* const slice : earlier)
        kept_bytes_ += bytesOf(slice->later_grad);
    return watched.end(std::move(grad));
}

Matrix<float> GptStage::backwardEmbedding(Matrix<float> grad) {
    Watched watched(*this, LayerPart::InputGradient, GptReplay::Layer::Embedding, 0, tables());
    if (auto* const replay = watched.replay()) replay->input = grad;
    return watched.end(embeddingInputGradient(std::move(grad), watched.probe()));
}

Parameters<float> GptStage::weightsOfEmbedding(Piece piece, const Kept& keep) {
    const PieceTokens data = tokensOf(piece);
    Watched watched(*this, LayerPart::WeightGradient, GptReplay::Layer::Embedding, 0, tables());
    if (auto* const replay = watched.replay()) {
        replay->tokens = data;
        replay->input = keep.embedding_grad;
    }
    return watched.end(embeddingWeightGradient(tables(), data, keep.embedding_grad, watched.probe()));
}

Parameters<float> GptStage::weightsOfBlock(int i, const Kept& keep) {
    const Block::Kept& of_block = keep.blocks[static_cast<std::size_t>(i)];
    Watched watched(*this, LayerPart::WeightGradient, GptReplay::Layer::Block, blockNumber(i), blockWeights(i));
    if (auto* const replay = watched.replay()) replay->kept = of_block;
    return watched.end(block(i, watched.sums(), watched.probe()).backwardWeight(of_block));
}

Parameters<float> GptStage::weightsOfHead(const Kept& keep) {
    Watched watched(*this, LayerPart::WeightGradient, GptReplay::Layer::Head, headNumber(), headParts());
    if (auto* const replay = watched.replay()) replay->head = keep.head;
    return watched.end(headWeightGradient(headParts(), keep.head, watched.probe()));
}

Tensor GptStage::forward(Piece piece, Tensor input) {
    Matrix<float> x = first_ ? forwardEmbedding(piece) : std::move(input).host();
    Kept keep;
    keep.blocks.resize(static_cast<std::size_t>(config_.layersAt(task_.place)));
    for (int i = 0; i < config_.layersAt(task_.place); ++i)
        x = forwardBlock(piece, i, std::move(x), keep);
    if (last_) {
        forwardHead(piece, x, keep);
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
    Matrix<float> grad = last_ ? backwardHead(keep) : std::move(output_grad).host();
    for (int i = config_.layersAt(task_.place); i-- > 0;)
        grad = backwardBlock(piece, i, std::move(grad), keep);
    keep.returned = true;
    if (first_) keep.embedding_grad = backwardEmbedding(std::exchange(grad, {}));
    kept_bytes_ += keep.bytes();
    return grad;
}

void GptStage::backwardWeight(Piece piece) {
    const Kept& keep = kept(piece);
    if (!keep.returned) throw std::logic_error("the weight gradient was asked for before the input's");
    Parameters<float> gradients;
    const auto append = [&](Parameters<float> more) { std::ranges::move(more, std::back_inserter(gradients)); };
    if (first_) append(weightsOfEmbedding(piece, keep));
    for (int i = 0; i < config_.layersAt(task_.place); ++i)
        append(weightsOfBlock(i, keep));
    if (last_) append(weightsOfHead(keep));
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
    return runtime::sumsIn(kind, config_, task_);
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
    std::int64_t sum = bytesOf(embedding_grad) + head.bytes();
    for (const Block::Kept& block : blocks)
        sum += block.bytes();
    return sum;
}

} // namespace bubblescope::runtime
