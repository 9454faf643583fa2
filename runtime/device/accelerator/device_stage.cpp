#include "runtime/device/accelerator/device_stage.h"

#include "runtime/model/synthetic.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace bubblescope::runtime {

template <class T>
std::int64_t DeviceStage<T>::Kept::bytes() const {
    std::int64_t sum = tokens.bytes() + targets.bytes() + embedding_grad.bytes() + normalised.bytes() +
                       logits_grad.bytes() + normalised_grad.bytes();
    for (const auto& block : blocks)
        sum += block.bytes();
    return sum;
}

template <class T>
DeviceStage<T>::DeviceStage(std::shared_ptr<RankQueue> queue, const ModelConfig& config, StageTask task)
    : queue_(std::move(queue)), config_(config), task_(std::move(task)), first_(task_.place == 0),
      last_(task_.place == task_.places - 1), parameters_(*queue_, config_, task_),
      layers_(*queue_, parameters_, task_.shard.device_sums), gradients_(*queue_, task_.pieces, parameters_.size()),
      has_loss_(task_.pieces.size()) {
    if (first_ || last_) {
        const std::string_view text = config_.text->text();
        text_ = queue_->pool().take(static_cast<std::int64_t>(text.size()));
        queue_->device().copyIn(text_.as<void>(), text.data(), text_.bytes(), queue_->stream());
    }
    if (last_) losses_ = layers_.template take<double>(static_cast<std::int64_t>(task_.pieces.size()));
    // What was queued here belongs to no op.
    queue_->finish();
}

template <class T>
typename DeviceStage<T>::Block DeviceStage<T>::block(std::size_t i) const {
    return Block(layers_, (first_ ? 2 : 0) + i * Block::Parts::kParts,
                 {config_.batch, config_.heads / task_.shard.size, std::int64_t{config_.width} / task_.shard.size});
}

template <class T>
Buffer DeviceStage<T>::take(Tensor tensor, Piece piece) const {
    QueuedArray& array = queuedArray(tensor);
    if (array.queue() != queue_ || array.storage() != kStorage<T> || array.rows() != tokens(piece) ||
        array.cols() != config_.width) {
        throw std::logic_error("a tensor does not belong to the stage that is to use it");
    }
    return std::move(array.buffer());
}

template <class T>
Tensor DeviceStage<T>::give(Buffer buffer, Piece piece) const {
    return Tensor(std::make_unique<QueuedArray>(queue_, std::move(buffer), tokens(piece), Eigen::Index{config_.width},
                                                kStorage<T>));
}

template <class T>
void DeviceStage<T>::makeTokens(Piece piece, Kept& keep) const {
    keep.tokens = layers_.template take<int>(tokens(piece));
    keep.targets = layers_.template take<int>(tokens(piece));
    queue_->launch(TokensKernel{keep.tokens.template as<int>(), keep.targets.template as<int>(),
                                text_.as<unsigned char>(), text_.bytes(), config_.text->places(config_.sequence),
                                config_.seed, static_cast<std::uint64_t>(Synthetic::Stream::Data), step_,
                                piece.sample.value, config_.batch, begin(piece), length(piece)});
}

template <class T>
Buffer DeviceStage<T>::embed(Piece piece, const Kept& keep) const {
    Buffer output = layers_.take(tokens(piece) * config_.width);
    queue_->launch(EmbedKernel<T>{output.as<T>(), keep.tokens.template as<int>(), parameters_.weight(0),
                                  parameters_.weight(1), tokens(piece), config_.width, TextData::kVocabulary,
                                  config_.sequence, begin(piece), length(piece)});
    return output;
}

template <class T>
void DeviceStage<T>::embeddingGradient(Piece piece, const Kept& keep, DeviceGradientSum::Target target) const {
    const T* const grad = keep.embedding_grad.template as<T>();
    queue_->launch(TokenTableGradientKernel<T>{target.column + parameters_.part(0).weight, grad,
                                               keep.tokens.template as<int>(), tokens(piece), config_.width,
                                               TextData::kVocabulary, target.accumulate});
    queue_->launch(PositionTableGradientKernel<T>{target.column + parameters_.part(1).weight, grad, config_.width,
                                                  config_.sequence, config_.batch, begin(piece), length(piece),
                                                  target.accumulate});
}

template <class T>
void DeviceStage<T>::finish(Piece piece, const Buffer& output, Kept& keep) {
    const std::int64_t rows = tokens(piece);
    keep.normalised = layers_.normalise(output, rows, config_.width);
    const Buffer logits = layers_.applyExactly(head(), layers_.scaled(head() - 1, keep.normalised, rows), rows);
    const Buffer row_losses = layers_.template take<float>(rows);
    keep.logits_grad = layers_.take(rows * TextData::kVocabulary);
    const float share = 1.0F / static_cast<float>(config_.batch * config_.sequence);
    queue_->launch(CrossEntropyKernel<T>{keep.logits_grad.template as<T>(), row_losses.as<float>(), logits.as<float>(),
                                         keep.targets.template as<int>(), rows, TextData::kVocabulary, share});
    const std::size_t number = numberOf(piece);
    queue_->launch(LossKernel{losses_.as<double>() + number, row_losses.as<float>(), rows,
                              1.0 / static_cast<double>(config_.batch * config_.sequence)});
    has_loss_[number] = true;
}

template <class T>
Tensor DeviceStage<T>::forward(Piece piece, Tensor input) {
    Kept keep;
    keep.blocks.resize(static_cast<std::size_t>(config_.layersAt(task_.place)));
    if (first_ || last_) makeTokens(piece, keep);
    Buffer x = first_ ? embed(piece, keep) : take(std::move(input), piece);
    for (std::size_t i = 0; i < keep.blocks.size(); ++i)
        x = block(i).forward(std::move(x), tokens(piece), earlierSlices(piece, i), keep.blocks[i]);
    if (last_) finish(piece, x, keep);
    kept_bytes_ += keep.bytes();
    kept_.insert_or_assign(piece, std::move(keep));
    return last_ ? Tensor() : give(std::move(x), piece);
}

template <class T>
Tensor DeviceStage<T>::backwardInput(Piece piece, Tensor output_grad) {
    Kept& keep = kept(piece);
    kept_bytes_ -= keep.bytes();
    Buffer grad;
    if (last_) {
        keep.normalised_grad = layers_.inputGradient(head(), keep.logits_grad, tokens(piece));
        grad = layers_.normInputGradient(head() - 1, keep.normalised, keep.normalised_grad, {}, tokens(piece));
        keep.normalised.inverse_deviations = Buffer();
    } else {
        grad = take(std::move(output_grad), piece);
    }
    for (std::size_t i = keep.blocks.size(); i-- > 0;) {
        const auto earlier = earlierSlices(piece, i);
        for (const auto* const slice : earlier)
            kept_bytes_ -= slice->later_grad.bytes();
        grad = block(i).backwardInput(std::move(grad), tokens(piece), earlier, keep.blocks[i]);
        for (const auto* const slice : earlier)
            kept_bytes_ += slice->later_grad.bytes();
    }
    keep.returned = true;
    if (first_) keep.embedding_grad = std::move(grad);
    kept_bytes_ += keep.bytes();
    return first_ ? Tensor() : give(std::move(grad), piece);
}

template <class T>
void DeviceStage<T>::backwardWeight(Piece piece) {
    const Kept& keep = kept(piece);
    if (!keep.returned) throw std::logic_error("the weight gradient was asked for before the input's");
    const DeviceGradientSum::Target target = gradients_.begin(piece);
    if (first_) embeddingGradient(piece, keep, target);
    for (std::size_t i = 0; i < keep.blocks.size(); ++i)
        block(i).backwardWeight(keep.blocks[i], tokens(piece), target);
    if (last_) {
        layers_.normWeightGradient(head() - 1, keep.normalised, keep.normalised_grad, tokens(piece), target);
        layers_.weightGradient(head(), layers_.scaled(head() - 1, keep.normalised, tokens(piece)), keep.logits_grad,
                               tokens(piece), target);
    }
    gradients_.end(piece);
    kept_bytes_ -= keep.bytes();
    kept_.erase(piece);
}

template <class T>
Tensor DeviceStage<T>::takeGradient() {
    return Tensor(
        std::make_unique<QueuedArray>(queue_, gradients_.take(), parameters_.size(), Eigen::Index{1}, Storage::Float));
}

template <class T>
void DeviceStage<T>::applyGradient(const Tensor& sum) {
    if (parameters_.size() > 0) {
        const QueuedArray& array = queuedArray(sum);
        if (array.queue() != queue_ || array.rows() != parameters_.size())
            throw std::logic_error("a gradient does not belong to the stage that is to use it");
        parameters_.step(array.buffer().template as<float>(), task_.microbatches);
    }
    ++step_;
}

template <class T>
double DeviceStage<T>::takeLoss() {
    if (std::ranges::none_of(has_loss_, [](bool has) { return has; })) return 0.0;
    std::vector<double> losses(has_loss_.size());
    queue_->device().copyOut(losses.data(), losses_.as<void>(), losses_.bytes(), queue_->stream());
    double sum = 0.0;
    for (std::size_t i = 0; i < losses.size(); ++i)
        sum += has_loss_[i] ? losses[i] : 0.0;
    has_loss_.assign(has_loss_.size(), false);
    return sum / static_cast<double>(task_.microbatches);
}

template <class T>
int DeviceStage<T>::sumsIn(OpKind kind) const {
    return runtime::sumsIn(kind, config_, task_);
}

template <class T>
MemoryUse DeviceStage<T>::memory() const {
    return {parameters_.bytes(), gradients_.bytes(), parameters_.optimizerBytes(), kept_bytes_};
}

template <class T>
std::uint64_t DeviceStage<T>::digest(std::uint64_t hash) const {
    const std::uint64_t own = parameters_.digest();
    for (unsigned shift = 0; shift < 64; shift += 8)
        hash = (hash ^ ((own >> shift) & 0xFFU)) * kFnvPrime;
    return hash;
}

template <class T>
std::size_t DeviceStage<T>::numberOf(Piece piece) const {
    return static_cast<std::size_t>(std::ranges::find(task_.pieces, piece) - task_.pieces.begin());
}

template <class T>
typename DeviceStage<T>::Kept& DeviceStage<T>::kept(Piece piece) {
    const auto found = kept_.find(piece);
    if (found == kept_.end()) throw std::logic_error("a backward op came before its forward op");
    return found->second;
}

template <class T>
std::vector<typename DeviceStage<T>::Block::Kept*> DeviceStage<T>::earlierSlices(Piece piece, std::size_t block) {
    std::vector<typename Block::Kept*> earlier;
    for (int slice = 0; slice < piece.slice; ++slice) {
        const auto found = kept_.find({piece.sample, slice});
        if (found == kept_.end() || found->second.returned)
            throw std::logic_error("the slices of a sequence must pass a stage in order and come back in reverse");
        earlier.push_back(&found->second.blocks[block]);
    }
    return earlier;
}

template class DeviceStage<float>;
template class DeviceStage<Bf16>;

} // namespace bubblescope::runtime
