#include "runtime/backend/accelerator/device_stage.h"

#include <utility>

// The layers of a stage on a device, each with what a watch is to be told.

namespace bubblescope::runtime {

template <class T>
class DeviceStage<T>::Watched {
public:
    Watched(DeviceStage& stage, Piece piece, LayerPart part, Layer layer, std::size_t block = 0)
        : stage_(stage), watch_(stage.task_.watch) {
        if (watch_ == nullptr) return;
        const int number = layer == Layer::Embedding ? 0
                           : layer == Layer::Block   ? stage.gpt_.blockNumber(block)
                                                     : stage.gpt_.headNumber();
        weights_ = stage.gpt_.weightsOf(number);
        if (!watch_->begin({part, number})) return;
        RankQueue& queue = *stage.queue_;
        if (!stage.again_) {
            stage.again_.emplace(stage.config_, stage.task_, stage.parameters_,
                                 DeviceLayers<T>(queue, queue.checks(), stage.parameters_));
        }
        replay_ = std::make_unique<DeviceReplay<T>>(*stage.again_, part, layer, block, weights_);
        replay_->rows = stage.rowsOf(piece);
    }

    /// To be filled with the inputs; null where nothing is kept.
    [[nodiscard]] DeviceReplay<T>* replay() { return replay_.get(); }
    [[nodiscard]] LayerProbe* probe() { return watch_; }

    /// Weights' gradients are about to be added there.
    void beginWeights(DeviceGradientSum::Target target) {
        if (!replay_ || !target.accumulate) return;
        RankQueue& queue = *stage_.queue_;
        replay_->sum = stage_.gpt_.layers().template take<float>(weights_.size);
        queue.device().copy(replay_->sum.template as<void>(), target.column + weights_.first, replay_->sum.bytes(),
                            queue.stream());
    }
    /// They have been.
    void endWeights(DeviceGradientSum::Target target) {
        stage_.gpt_.layers().showRun(watch_, CheckedTensor::WeightGradient, target.column + weights_.first,
                                     weights_.size);
    }

    void end() {
        if (watch_ != nullptr) watch_->end(std::move(replay_));
    }

private:
    DeviceStage& stage_;
    LayerWatch* watch_;
    FlatRun weights_;
    std::unique_ptr<DeviceReplay<T>> replay_;
};

template <class T>
Buffer DeviceStage<T>::forwardEmbedding(Piece piece, const Kept& keep) {
    Watched watched(*this, piece, LayerPart::Forward, Layer::Embedding);
    if (auto* const replay = watched.replay()) replay->tokens = queue_->copyOf(keep.tokens);
    Buffer output = gpt_.embed(keep.tokens, rowsOf(piece), watched.probe());
    watched.end();
    return output;
}

template <class T>
Buffer DeviceStage<T>::forwardBlock(Piece piece, std::size_t i, Buffer input, Kept& keep) {
    const auto earlier = earlierSlices(piece, i);
    Watched watched(*this, piece, LayerPart::Forward, Layer::Block, i);
    if (auto* const replay = watched.replay()) {
        replay->input = queue_->copyOf(input);
        for (const auto* const slice : earlier)
            replay->earlier.push_back(DeviceReplay<T>::copyOfSlice(*slice, *queue_));
    }
    Buffer output = gpt_.block(i, watched.probe()).forward(std::move(input), tokens(piece), earlier, keep.blocks[i]);
    watched.end();
    return output;
}

template <class T>
void DeviceStage<T>::forwardHead(Piece piece, Buffer input, Kept& keep) {
    Watched watched(*this, piece, LayerPart::Forward, Layer::Head);
    const std::size_t number = numberOf(piece);
    gpt_.headForward(input, keep.targets, rowsOf(piece), keep.head, losses_.as<double>() + number, watched.probe());
    has_loss_[number] = true;
    if (auto* const replay = watched.replay()) {
        replay->input = std::move(input);
        replay->targets = queue_->copyOf(keep.targets);
    }
    watched.end();
}

template <class T>
Buffer DeviceStage<T>::backwardHead(Piece piece, Kept& keep) {
    Watched watched(*this, piece, LayerPart::InputGradient, Layer::Head);
    Buffer grad = gpt_.headInputGradient(keep.head, keep.head.normalised_grad, rowsOf(piece), watched.probe());
    DeviceNormalised& normalised = keep.head.normalised;
    if (auto* const replay = watched.replay()) {
        replay->head.logits_grad = queue_->copyOf(keep.head.logits_grad);
        replay->head.normalised.values = queue_->copyOf(normalised.values);
        replay->head.normalised.inverse_deviations = std::move(normalised.inverse_deviations);
    }
    normalised.inverse_deviations = Buffer();
    watched.end();
    return grad;
}

template <class T>
Buffer DeviceStage<T>::backwardBlock(Piece piece, std::size_t i, Buffer grad, Kept& keep) {
    const auto earlier = earlierSlices(piece, i);
    Watched watched(*this, piece, LayerPart::InputGradient, Layer::Block, i);
    if (auto* const replay = watched.replay()) {
        replay->input = queue_->copyOf(grad);
        replay->kept = DeviceReplay<T>::copyForBackward(keep.blocks[i], *queue_);
        for (const auto* const slice : earlier)
            replay->earlier.push_back(DeviceReplay<T>::copyOfSlice(*slice, *queue_));
    }
    for (const auto* const slice : earlier)
        kept_bytes_ -= slice->later_grad.bytes();
    grad = gpt_.block(i, watched.probe()).backwardInput(std::move(grad), tokens(piece), earlier, keep.blocks[i]);
    for (const auto* const slice : earlier)
        kept_bytes_ += slice->later_grad.bytes();
    watched.end();
    return grad;
}

template <class T>
Buffer DeviceStage<T>::backwardEmbedding(Piece piece, Buffer grad) {
    Watched watched(*this, piece, LayerPart::InputGradient, Layer::Embedding);
    if (auto* const replay = watched.replay()) replay->input = queue_->copyOf(grad);
    gpt_.layers().show(watched.probe(), CheckedTensor::InputGradient, grad);
    watched.end();
    return grad;
}

template <class T>
void DeviceStage<T>::weightsOfEmbedding(Piece piece, Kept& keep, DeviceGradientSum::Target target) {
    Watched watched(*this, piece, LayerPart::WeightGradient, Layer::Embedding);
    watched.beginWeights(target);
    gpt_.embeddingGradient(keep.tokens, keep.embedding_grad, rowsOf(piece), target);
    watched.endWeights(target);
    if (auto* const replay = watched.replay()) {
        replay->tokens = queue_->copyOf(keep.tokens);
        replay->input = std::move(keep.embedding_grad);
    }
    watched.end();
}

template <class T>
void DeviceStage<T>::weightsOfBlock(Piece piece, std::size_t i, Kept& keep, DeviceGradientSum::Target target) {
    Watched watched(*this, piece, LayerPart::WeightGradient, Layer::Block, i);
    watched.beginWeights(target);
    gpt_.block(i, watched.probe()).backwardWeight(keep.blocks[i], tokens(piece), target);
    watched.endWeights(target);
    if (auto* const replay = watched.replay()) replay->kept = std::move(keep.blocks[i]);
    watched.end();
}

template <class T>
void DeviceStage<T>::weightsOfHead(Piece piece, Kept& keep, DeviceGradientSum::Target target) {
    Watched watched(*this, piece, LayerPart::WeightGradient, Layer::Head);
    watched.beginWeights(target);
    gpt_.headWeightGradient(keep.head, rowsOf(piece), target);
    watched.endWeights(target);
    if (auto* const replay = watched.replay()) replay->head = std::move(keep.head);
    watched.end();
}

template <class T>
void DeviceStage<T>::showWeights(int layer, LayerProbe& probe) {
    const FlatRun run = gpt_.weightsOf(layer);
    WorkQueue& on = queue_->current();
    DeviceTensor exact(*queue_, on, parameters_.weight(0) - parameters_.part(0).weight + run.first, run.size,
                       Storage::Float);
    probe.touch(CheckedTensor::Weights, exact);
    if (!parameters_.hasRounded()) return;
    DeviceTensor rounded(*queue_, on, parameters_.roundedWeight(0) - parameters_.part(0).weight + run.first, run.size,
                         kStorage<T>);
    probe.touch(CheckedTensor::Weights, rounded);
}

template <class T>
void DeviceStage<T>::computeKnown(CheckedTensor tensor, LayerProbe& probe) {
    if (!known_) known_.emplace(queue_->current());
    known_->compute(tensor, *queue_, queue_->current(), probe);
}

#define BUBBLESCOPE_WATCHED_LAYERS(T)                                                                   \
    template Buffer DeviceStage<T>::forwardEmbedding(Piece, const Kept&);                               \
    template Buffer DeviceStage<T>::forwardBlock(Piece, std::size_t, Buffer, Kept&);                    \
    template void DeviceStage<T>::forwardHead(Piece, Buffer, Kept&);                                    \
    template Buffer DeviceStage<T>::backwardHead(Piece, Kept&);                                         \
    template Buffer DeviceStage<T>::backwardBlock(Piece, std::size_t, Buffer, Kept&);                   \
    template Buffer DeviceStage<T>::backwardEmbedding(Piece, Buffer);                                   \
    template void DeviceStage<T>::weightsOfEmbedding(Piece, Kept&, DeviceGradientSum::Target);          \
    template void DeviceStage<T>::weightsOfBlock(Piece, std::size_t, Kept&, DeviceGradientSum::Target); \
    template void DeviceStage<T>::weightsOfHead(Piece, Kept&, DeviceGradientSum::Target);               \
    template void DeviceStage<T>::showWeights(int, LayerProbe&);                                        \
    template void DeviceStage<T>::computeKnown(CheckedTensor, LayerProbe&);
BUBBLESCOPE_WATCHED_LAYERS(float)
BUBBLESCOPE_WATCHED_LAYERS(Bf16)
#undef BUBBLESCOPE_WATCHED_LAYERS

} // namespace bubblescope::runtime
