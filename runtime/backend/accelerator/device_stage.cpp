#include "runtime/backend/accelerator/device_stage.h"

#include "runtime/model/synthetic.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace bubblescope::runtime {

template <class T>
std::int64_t DeviceStage<T>::Kept::bytes() const {
    std::int64_t sum = tokens.bytes() + targets.bytes() + embedding_grad.bytes() + head.bytes();
    for (const auto& block : blocks)
        sum += block.bytes();
    return sum;
}

template <class T>
DeviceStage<T>::DeviceStage(std::shared_ptr<RankQueue> queue, const ModelConfig& config, StageTask task)
    : queue_(std::move(queue)), config_(config), task_(std::move(task)), first_(task_.place == 0),
      last_(task_.place == task_.places - 1), parameters_(*queue_, config_, task_),
      gpt_(config_, task_, parameters_, DeviceLayers<T>(*queue_, parameters_, task_.shard.device_sums)),
      gradients_(*queue_, task_.pieces, parameters_.size()), has_loss_(task_.pieces.size()) {
    if (first_ || last_) {
        const std::string_view text = config_.text->text();
        text_ = queue_->pool().take(static_cast<std::int64_t>(text.size()));
        queue_->device().copyIn(text_.as<void>(), text.data(), text_.bytes(), queue_->stream());
    }
    if (last_) losses_ = gpt_.layers().template take<double>(static_cast<std::int64_t>(task_.pieces.size()));
    // What was queued here belongs to no op.
    queue_->finish();
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
    keep.tokens = gpt_.layers().template take<int>(tokens(piece));
    keep.targets = gpt_.layers().template take<int>(tokens(piece));
    queue_->launch(TokensKernel{keep.tokens.template as<int>(), keep.targets.template as<int>(),
                                text_.as<unsigned char>(), text_.bytes(), config_.text->places(config_.sequence),
                                config_.seed, static_cast<std::uint64_t>(Synthetic::Stream::Data), step_,
                                piece.sample.value, config_.batch, begin(piece), length(piece)});
}

template <class T>
Tensor DeviceStage<T>::forward(Piece piece, Tensor input) {
    Kept keep;
    keep.blocks.resize(static_cast<std::size_t>(config_.layersAt(task_.place)));
    if (first_ || last_) makeTokens(piece, keep);
    Buffer x = first_ ? forwardEmbedding(piece, keep) : take(std::move(input), piece);
    for (std::size_t i = 0; i < keep.blocks.size(); ++i)
        x = forwardBlock(piece, i, std::move(x), keep);
    if (last_) forwardHead(piece, std::exchange(x, Buffer()), keep);
    kept_bytes_ += keep.bytes();
    kept_.insert_or_assign(piece, std::move(keep));
    return last_ ? Tensor() : give(std::move(x), piece);
}

template <class T>
Tensor DeviceStage<T>::backwardInput(Piece piece, Tensor output_grad) {
    Kept& keep = kept(piece);
    kept_bytes_ -= keep.bytes();
    Buffer grad = last_ ? backwardHead(piece, keep) : take(std::move(output_grad), piece);
    for (std::size_t i = keep.blocks.size(); i-- > 0;)
        grad = backwardBlock(piece, i, std::move(grad), keep);
    keep.returned = true;
    if (first_) keep.embedding_grad = backwardEmbedding(piece, std::exchange(grad, Buffer()));
    kept_bytes_ += keep.bytes();
    return first_ ? Tensor() : give(std::move(grad), piece);
}

template <class T>
void DeviceStage<T>::backwardWeight(Piece piece) {
    Kept& keep = kept(piece);
    if (!keep.returned) throw std::logic_error("the weight gradient was asked for before the input's");
    kept_bytes_ -= keep.bytes();
    const DeviceGradientSum::Target target = gradients_.begin(piece);
    if (first_) weightsOfEmbedding(piece, keep, target);
    for (std::size_t i = 0; i < keep.blocks.size(); ++i)
        weightsOfBlock(piece, i, keep, target);
    if (last_) weightsOfHead(piece, keep, target);
    gradients_.end(piece);
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
