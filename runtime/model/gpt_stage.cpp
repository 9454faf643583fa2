#include "runtime/model/gpt_stage.h"

#include "core/base/hash.h"
#include "runtime/model/stage_layout.h"
#include "runtime/model/synthetic.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

namespace bubblescope::runtime {

namespace {

/// The number of pieces before each gradient is taken; empty if it is taken once.
std::vector<std::size_t> endsOf(const StageTask& task) {
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; task.gradient_per_piece && i < task.pieces.size(); ++i)
        ends.push_back(i + 1);
    if (task.update_of.empty()) return ends;
    ends.resize(static_cast<std::size_t>(task.updates()));
    for (std::size_t i = 0; i < task.pieces.size(); ++i)
        ends[static_cast<std::size_t>(task.update_of[task.pieces[i].sample.index()])] = i + 1;
    return ends;
}

} // namespace

template <class T>
std::int64_t GptStage<T>::SavedActivations::bytes() const {
    std::int64_t sum = embedding_grad.bytes() + head.bytes() + input.bytes();
    for (const auto& block : blocks)
        sum += block.bytes();
    return sum;
}

template <class T>
template <class Visit>
void GptStage<T>::SavedActivations::forEach(Visit visit) {
    for (auto& block : blocks) {
        for (Buffer* const buffer : {&block.ln1.values, &block.ln1.inverse_deviations, &block.qkv, &block.weights,
                                     &block.attended, &block.ln2.values, &block.ln2.inverse_deviations, &block.hidden})
            visit(*buffer);
    }
    for (Buffer* const buffer : {&head.normalised.values, &head.normalised.inverse_deviations, &head.logits_grad})
        visit(*buffer);
}

template <class T>
GptStage<T>::GptStage(std::shared_ptr<ComputeQueue> queue, const ModelConfig& config, StageTask task)
    : queue_(std::move(queue)), config_(config), task_(std::move(task)), first_(task_.embeds()),
      last_(task_.place == task_.places - 1), parameters_(*queue_, config_, task_),
      gradients_(*queue_, task_.pieces, parameters_.size(), endsOf(task_)), has_loss_(task_.pieces.size()) {
    if (first_ || last_) {
        const std::string_view text = config_.text->text();
        text_ = reinterpret_cast<const unsigned char*>(text.data());
        if (!queue_->device().sharesHostMemory()) {
            text_copy_ = queue_->pool().take(static_cast<std::int64_t>(text.size()));
            queue_->device().copyIn(text_copy_.as<void>(), text.data(), text_copy_.bytes(), queue_->stream());
            text_ = text_copy_.as<unsigned char>();
        }
    }
    if (last_) losses_ = queue_->pool().take(static_cast<std::int64_t>(task_.pieces.size() * sizeof(double)));
    // Work queued here belongs to no op.
    queue_->finish();
}

template <class T>
PieceRows GptStage<T>::rowsOf(Piece piece) const {
    const auto begin = [&](int slice) { return config_.sequence * slice / task_.slices; };
    return {config_.batch, begin(piece.slice), begin(piece.slice + 1) - begin(piece.slice), config_.sequence};
}

template <class T>
LayerRange GptStage<T>::layers() const {
    return layersAt(config_, task_.place, task_.places);
}

template <class T>
ParameterView<T> GptStage<T>::parametersOf(int layer) const {
    if (layer == 0) return parameters_.view(0, 2);
    const int i = layer - blockNumber(0);
    if (i >= config_.layersAt(task_.place)) return parameters_.view(parameters_.parts() - 2, 2);
    const std::size_t before = first_ ? 2 : 0;
    return parameters_.view(before + static_cast<std::size_t>(i) * BlockParts::kParts, BlockParts::kParts);
}

template <class T>
void GptStage<T>::makeTokens(Piece piece, SavedActivations& saved) const {
    const PieceRows rows = rowsOf(piece);
    const auto bytes = rows.tokens() * static_cast<std::int64_t>(sizeof(int));
    saved.tokens = queue_->pool().take(bytes);
    saved.targets = queue_->pool().take(bytes);
    std::int64_t step = step_;
    int sample = piece.sample.value;
    if (!task_.update_of.empty()) { // each update has a batch of its own, as if it were a step
        const int update = task_.update_of[piece.sample.index()];
        step += update - step_ % task_.updates();
        sample -= static_cast<int>(std::ranges::find(task_.update_of, update) - task_.update_of.begin());
    }
    constexpr std::array kStreams{Synthetic::Stream::Data, Synthetic::Stream::FirstEncoder,
                                  Synthetic::Stream::SecondEncoder};
    const Synthetic::Stream stream = kStreams[static_cast<std::size_t>(task_.encoder)];
    queue_->launch(TokensKernel{saved.tokens.template as<int>(), saved.targets.template as<int>(), text_,
                                static_cast<std::int64_t>(config_.text->text().size()),
                                config_.text->places(config_.sequence), config_.seed,
                                static_cast<std::uint64_t>(stream), step, sample, rows.batch, rows.begin, rows.length});
}

template <class T>
int GptStage<T>::microbatchesOf(int update) const {
    if (task_.update_of.empty()) return task_.microbatches;
    return static_cast<int>(std::ranges::count(task_.update_of, update));
}

template <class T>
void GptStage<T>::showVersion(Piece piece) {
    if (!task_.version_of.empty()) parameters_.show(versionOf(piece));
}

template <class T>
Tensor GptStage<T>::forward(Piece piece, Tensor input) {
    showVersion(piece);
    if (pieces_left_.empty() && !task_.version_of.empty()) {
        pieces_left_.resize(static_cast<std::size_t>(task_.updates()));
        for (const Piece& each : task_.pieces)
            ++pieces_left_[static_cast<std::size_t>(versionOf(each))];
    }
    SavedActivations saved;
    saved.blocks.resize(static_cast<std::size_t>(config_.layersAt(task_.place)));
    if (first_ || last_) makeTokens(piece, saved);
    Buffer x =
        first_ && !task_.joins() ? Buffer() : queue_->take(std::move(input), tokens(piece), config_.width, kStorage<T>);
    const bool keep = !task_.recomputed.contains(piece);
    if (!keep) saved.input = queue_->copyOf(x);
    x = forwardLayers(piece, std::move(x), saved, keep);
    saved_bytes_ += saved.bytes();
    saved_.insert_or_assign(piece, std::move(saved));
    return last_ ? Tensor() : queue_->give(std::move(x), tokens(piece), config_.width, kStorage<T>);
}

template <class T>
Buffer GptStage<T>::forwardLayers(Piece piece, Buffer input, SavedActivations& saved, bool keep) {
    Buffer x = first_ ? forwardEmbedding(piece, saved) : std::move(input);
    if (task_.joins()) {
        if constexpr (std::is_same_v<T, float>) {
            if (x.shared()) x = queue_->copyOf(x); // its digest is of the embedding
            queue_->launch(AddKernel{x.as<float>(), input.template as<float>(), tokens(piece) * config_.width});
        } else {
            throw std::logic_error("encoders need activations in fp32");
        }
    }
    for (std::size_t i = 0; i < saved.blocks.size(); ++i) {
        x = forwardBlock(piece, i, std::move(x), saved);
        if (!keep) saved.blocks[i] = {};
    }
    if (last_) forwardHead(piece, std::exchange(x, Buffer()), saved);
    if (!keep) saved.head = {};
    return x;
}

template <class T>
void GptStage<T>::recompute(Piece piece) {
    SavedActivations& saved = savedOf(piece);
    showVersion(piece);
    saved_bytes_ -= saved.bytes();
    recomputing_ = true; // watches have observed the same computation in F
    static_cast<void>(forwardLayers(piece, std::exchange(saved.input, Buffer()), saved, true));
    recomputing_ = false;
    saved_bytes_ += saved.bytes();
}

template <class T>
void GptStage<T>::forget(Piece piece) {
    saved_bytes_ -= savedOf(piece).bytes();
    saved_.erase(piece);
}

template <class T>
void GptStage<T>::offload(Piece piece) {
    SavedActivations& saved = savedOf(piece);
    saved_bytes_ -= saved.bytes();
    saved.forEach([&](Buffer& buffer) {
        auto& host = saved.host.emplace_back(static_cast<std::size_t>(buffer.bytes()));
        if (!host.empty()) queue_->device().copyOut(host.data(), buffer.as<void>(), buffer.bytes(), queue_->stream());
        buffer = Buffer();
    });
    saved_bytes_ += saved.bytes();
}

template <class T>
void GptStage<T>::reload(Piece piece) {
    SavedActivations& saved = savedOf(piece);
    saved_bytes_ -= saved.bytes();
    std::size_t next = 0;
    saved.forEach([&](Buffer& buffer) {
        const auto& host = saved.host.at(next++);
        buffer = queue_->pool().take(static_cast<std::int64_t>(host.size()));
        if (!host.empty()) queue_->device().copyIn(buffer.as<void>(), host.data(), buffer.bytes(), queue_->stream());
    });
    saved.host.clear();
    saved_bytes_ += saved.bytes();
}

template <class T>
Tensor GptStage<T>::backwardInput(Piece piece, Tensor output_grad) {
    SavedActivations& saved = savedOf(piece);
    showVersion(piece);
    saved_bytes_ -= saved.bytes();
    Buffer grad = last_ ? backwardHead(piece, saved)
                        : queue_->take(std::move(output_grad), tokens(piece), config_.width, kStorage<T>);
    for (std::size_t i = saved.blocks.size(); i-- > 0;)
        grad = backwardBlock(piece, i, std::move(grad), saved);
    saved.returned = true;
    if (task_.gradient_per_piece) keepScaled(piece, saved);
    if (first_)
        saved.embedding_grad =
            backwardEmbedding(piece, task_.joins() ? queue_->copyOf(grad) : std::exchange(grad, Buffer()));
    saved_bytes_ += saved.bytes();
    return first_ && !task_.joins() ? Tensor()
                                    : queue_->give(std::move(grad), tokens(piece), config_.width, kStorage<T>);
}

template <class T>
void GptStage<T>::keepScaled(Piece piece, SavedActivations& saved) {
    const auto keep = [&](int layer, std::size_t part, Normalised& normalised) {
        const Layers<T> layers({*queue_, *queue_}, parametersOf(layer));
        normalised.scaled = layers.scaled(part, normalised, tokens(piece));
    };
    for (std::size_t i = 0; i < saved.blocks.size(); ++i) {
        keep(blockNumber(i), BlockParts::kLn1, saved.blocks[i].ln1);
        keep(blockNumber(i), BlockParts::kLn2, saved.blocks[i].ln2);
    }
    if (last_) keep(headNumber(), Head<T>::kNorm, saved.head.normalised);
}

template <class T>
void GptStage<T>::backwardWeight(Piece piece) {
    SavedActivations& saved = savedOf(piece);
    if (!saved.returned) throw std::logic_error("the weight gradient was requested before the input gradient");
    showVersion(piece);
    saved_bytes_ -= saved.bytes();
    gradients_.begin(piece);
    if (first_) weightsOfEmbedding(piece, saved);
    for (std::size_t i = 0; i < saved.blocks.size(); ++i)
        weightsOfBlock(piece, i, saved);
    if (last_) weightsOfHead(piece, saved);
    gradients_.end(piece);
    saved_.erase(piece);
    if (pieces_left_.empty()) return;
    const int version = versionOf(piece);
    if (--pieces_left_[static_cast<std::size_t>(version)] == 0) parameters_.drop(version);
}

template <class T>
Tensor GptStage<T>::blank(Piece piece) const {
    Buffer values = queue_->pool().take(tokens(piece) * config_.width * static_cast<std::int64_t>(sizeof(T)));
    queue_->device().zero(values.as<void>(), values.bytes(), queue_->stream());
    return queue_->give(std::move(values), tokens(piece), config_.width, kStorage<T>);
}

template <class T>
void GptStage<T>::rehearse(OpKind kind, Piece piece) {
    rehearsing_ = true;
    const bool whole = kind == OpKind::Backward;
    if (kind == OpKind::Forward) static_cast<void>(forward(piece, first_ ? Tensor() : blank(piece)));
    const bool returns = whole || kind == OpKind::BackwardInput;
    if (returns && task_.recomputed.contains(piece)) recompute(piece);
    if (returns) static_cast<void>(backwardInput(piece, last_ ? Tensor() : blank(piece)));
    if (whole || kind == OpKind::BackwardWeight) backwardWeight(piece);
}

template <class T>
void GptStage<T>::endRehearsal() {
    rehearsing_ = false;
    static_cast<void>(gradients_.take());
    has_loss_.assign(has_loss_.size(), false);
    parameters_.prepareSteps();
}

template <class T>
Tensor GptStage<T>::takeGradient() {
    return queue_->give(gradients_.take(), parameters_.size(), 1, Storage::Float);
}

template <class T>
Tensor GptStage<T>::takeWeights() {
    return queue_->give(parameters_.take(), parameters_.size(), 1, Storage::Float);
}

template <class T>
void GptStage<T>::setWeights(Tensor weights, std::int64_t steps) {
    parameters_.set(queue_->take(std::move(weights), parameters_.size(), 1, Storage::Float));
    step_ = steps;
}

template <class T>
void GptStage<T>::applyGradient(const Tensor& sum) {
    if (parameters_.size() > 0) {
        const auto version = static_cast<int>(step_ % task_.updates());
        if (!pieces_left_.empty() && pieces_left_[static_cast<std::size_t>(version)] > 0) parameters_.keep(version);
        const void* const values = queue_->valuesOf(sum, parameters_.size(), 1, Storage::Float);
        parameters_.step(static_cast<const float*>(values), microbatchesOf(version));
    }
    ++step_;
    if (step_ % task_.updates() == 0) pieces_left_.clear();
}

template <class T>
double GptStage<T>::takeLoss() {
    if (std::ranges::none_of(has_loss_, [](bool has) { return has; })) return 0.0;
    std::vector<double> losses(has_loss_.size());
    queue_->device().copyOut(losses.data(), losses_.as<void>(), losses_.bytes(), queue_->stream());
    double sum = 0.0;
    for (std::size_t i = 0; i < losses.size(); ++i)
        sum += has_loss_[i] ? losses[i] : 0.0;
    has_loss_.assign(has_loss_.size(), false);
    const auto updated = static_cast<int>((step_ + task_.updates() - 1) % task_.updates());
    return sum / static_cast<double>(microbatchesOf(updated));
}

template <class T>
int GptStage<T>::sumsIn(OpKind kind) const {
    return runtime::sumsIn(kind, config_, task_);
}

template <class T>
MemoryUse GptStage<T>::memory() const {
    return {parameters_.bytes(), gradients_.bytes(), parameters_.optimizerBytes(), saved_bytes_};
}

template <class T>
std::uint64_t GptStage<T>::digest(std::uint64_t hash) const {
    if (queue_->device().sharesHostMemory()) { // the raw bytes, which do not depend on how the model is cut
        for (const float value : parameters_.toHost()) {
            for (unsigned shift = 0; shift < 32; shift += 8)
                hash = fnv1a(hash, static_cast<unsigned char>(bitsOf(value) >> shift));
        }
        return hash;
    }
    const std::uint64_t own = parameters_.digest();
    for (unsigned shift = 0; shift < 64; shift += 8)
        hash = fnv1a(hash, static_cast<unsigned char>(own >> shift));
    return hash;
}

template <class T>
std::size_t GptStage<T>::numberOf(Piece piece) const {
    return static_cast<std::size_t>(std::ranges::find(task_.pieces, piece) - task_.pieces.begin());
}

template <class T>
typename GptStage<T>::SavedActivations& GptStage<T>::savedOf(Piece piece) {
    const auto found = saved_.find(piece);
    if (found == saved_.end()) throw std::logic_error("a backward op came before its forward op");
    return found->second;
}

template <class T>
std::vector<typename GptStage<T>::Block::Saved*> GptStage<T>::earlierSlices(Piece piece, std::size_t block) {
    std::vector<typename Block::Saved*> earlier;
    for (int slice = 0; slice < piece.slice; ++slice) {
        const auto found = saved_.find({piece.sample, slice});
        if (found == saved_.end() || found->second.returned)
            throw std::logic_error("slices of a sequence must pass a stage in order and return in reverse");
        earlier.push_back(&found->second.blocks[block]);
    }
    return earlier;
}

// The layers of the stage. Each layer is passed to the watch, and captured if the watch requests it.

template <class T>
class GptStage<T>::Watched {
public:
    Watched(GptStage& stage, Piece piece, LayerPart part, Layer layer, std::size_t block = 0)
        : queue_(*stage.queue_), watch_(stage.rehearsing_ || stage.recomputing_ ? nullptr : stage.task_.watch) {
        const int number = layer == Layer::Embedding ? 0
                           : layer == Layer::Block   ? stage.blockNumber(block)
                                                     : stage.headNumber();
        const bool keeps = watch_ != nullptr && watch_->begin({part, number});
        const ParameterView<T> parameters = stage.parametersOf(number);
        if (part == LayerPart::WeightGradient) {
            using Use = GradientSum::Use;
            const bool later = watch_ != nullptr && watch_->keepsWeightGradient(number);
            sums_to_ = stage.gradients_.target(parameters.parts, keeps   ? Use::IsKept
                                                                 : later ? Use::IsKeptLater
                                                                         : Use::Adds);
            weights_ = runOf(parameters.parts);
        }
        if (keeps) {
            captured_ = std::make_unique<CapturedGptLayer<T>>(stage.queue_, part, layer, parameters);
            captured_->rows = stage.rowsOf(piece);
            captured_->heads = stage.headsHere();
            captured_->gradient_sum = sums_to_.before;
        }
        if (ShardSums* const group = stage.task_.shard.sums; group != nullptr && stage.task_.shard.size > 1) {
            if (captured_) captured_->shared = true;
            sums_.emplace(queue_, *group, captured_ ? &captured_->sums : nullptr);
        }
    }

    /// The capture, to be filled with the inputs; null if nothing is captured.
    [[nodiscard]] CapturedGptLayer<T>* captured() { return captured_.get(); }
    [[nodiscard]] LayerPlace place() {
        const bool watches = watch_ != nullptr && watch_->watches();
        return {queue_, queue_, sums_ ? &*sums_ : nullptr, watches ? watch_ : nullptr};
    }
    /// A share of an input for the capture, or a copy of one that is shown as a result, too, and may be changed then.
    [[nodiscard]] Buffer unchanged(const Buffer& input) {
        return watch_->changes() ? queue_.copyOf(input) : input.share();
    }

    [[nodiscard]] GradientSum::Target target() const { return sums_to_.target; }

    void end() {
        if (!weights_.empty()) {
            GradientSum::RangeTarget to = std::exchange(sums_to_, {});
            place().show(CheckedTensor::WeightGradient, to.target.column + weights_.first, weights_.size,
                         std::move(to.after.memory));
        }
        if (watch_ != nullptr) watch_->end(std::move(captured_));
    }

private:
    ComputeQueue& queue_;
    LayerWatch* watch_;
    FlatRun weights_; ///< empty unless their gradient is computed
    GradientSum::RangeTarget sums_to_{};
    std::unique_ptr<CapturedGptLayer<T>> captured_;
    std::optional<GroupSums> sums_;
};

template <class T>
Buffer GptStage<T>::forwardEmbedding(Piece piece, const SavedActivations& saved) {
    Watched watched(*this, piece, LayerPart::Forward, Layer::Embedding);
    if (auto* const captured = watched.captured()) captured->tokens = saved.tokens.share();
    Buffer output = embedding(watched.place()).forward(saved.tokens, rowsOf(piece));
    watched.end();
    return output;
}

template <class T>
Buffer GptStage<T>::forwardBlock(Piece piece, std::size_t i, Buffer input, SavedActivations& saved) {
    const auto earlier = earlierSlices(piece, i);
    Watched watched(*this, piece, LayerPart::Forward, Layer::Block, i);
    if (auto* const captured = watched.captured()) {
        // The original records the use on this stream when it is freed, which then is after the op.
        captured->input = std::move(input);
        input = captured->input.share();
        for (const auto* const slice : earlier)
            captured->earlier.push_back(CapturedGptLayer<T>::shareOfSlice(*slice));
    }
    Buffer output = block(i, watched.place()).forward(std::move(input), tokens(piece), earlier, saved.blocks[i]);
    watched.end();
    return output;
}

template <class T>
void GptStage<T>::forwardHead(Piece piece, Buffer input, SavedActivations& saved) {
    Watched watched(*this, piece, LayerPart::Forward, Layer::Head);
    const std::size_t number = numberOf(piece);
    head(watched.place()).forward(input, saved.targets, rowsOf(piece), saved.head, losses_, number);
    has_loss_[number] = true;
    if (auto* const captured = watched.captured()) {
        captured->input = std::move(input);
        captured->targets = saved.targets.share();
    }
    watched.end();
}

template <class T>
Buffer GptStage<T>::backwardHead(Piece piece, SavedActivations& saved) {
    Watched watched(*this, piece, LayerPart::InputGradient, Layer::Head);
    Buffer grad = head(watched.place()).backwardInput(saved.head, saved.head.normalised_grad, rowsOf(piece));
    Normalised& normalised = saved.head.normalised;
    if (auto* const captured = watched.captured()) {
        captured->head.logits_grad = saved.head.logits_grad.share();
        captured->head.normalised.values = normalised.values.share();
        captured->head.normalised.inverse_deviations = std::move(normalised.inverse_deviations);
    }
    normalised.inverse_deviations = Buffer();
    watched.end();
    return grad;
}

template <class T>
Buffer GptStage<T>::backwardBlock(Piece piece, std::size_t i, Buffer grad, SavedActivations& saved) {
    const auto earlier = earlierSlices(piece, i);
    Watched watched(*this, piece, LayerPart::InputGradient, Layer::Block, i);
    if (auto* const captured = watched.captured()) {
        captured->input = grad.share();
        captured->saved = CapturedGptLayer<T>::shareForBackward(saved.blocks[i]);
        for (const auto* const slice : earlier)
            captured->earlier.push_back(CapturedGptLayer<T>::shareOfSlice(*slice));
    }
    for (const auto* const slice : earlier)
        saved_bytes_ -= slice->later_grad.bytes();
    grad = block(i, watched.place()).backwardInput(std::move(grad), tokens(piece), earlier, saved.blocks[i]);
    for (const auto* const slice : earlier)
        saved_bytes_ += slice->later_grad.bytes();
    watched.end();
    return grad;
}

template <class T>
Buffer GptStage<T>::backwardEmbedding(Piece piece, Buffer grad) {
    Watched watched(*this, piece, LayerPart::InputGradient, Layer::Embedding);
    if (auto* const captured = watched.captured()) captured->input = watched.unchanged(grad);
    watched.place().template show<T>(CheckedTensor::InputGradient, grad);
    watched.end();
    return grad;
}

template <class T>
void GptStage<T>::weightsOfEmbedding(Piece piece, SavedActivations& saved) {
    Watched watched(*this, piece, LayerPart::WeightGradient, Layer::Embedding);
    embedding(watched.place()).backwardWeight(saved.tokens, saved.embedding_grad, rowsOf(piece), watched.target());
    if (auto* const captured = watched.captured()) {
        captured->tokens = saved.tokens.share();
        captured->input = std::move(saved.embedding_grad);
    }
    watched.end();
}

template <class T>
void GptStage<T>::weightsOfBlock(Piece piece, std::size_t i, SavedActivations& saved) {
    Watched watched(*this, piece, LayerPart::WeightGradient, Layer::Block, i);
    block(i, watched.place()).backwardWeight(saved.blocks[i], tokens(piece), watched.target());
    if (auto* const captured = watched.captured()) captured->saved = std::move(saved.blocks[i]);
    watched.end();
}

template <class T>
void GptStage<T>::weightsOfHead(Piece piece, SavedActivations& saved) {
    Watched watched(*this, piece, LayerPart::WeightGradient, Layer::Head);
    head(watched.place()).backwardWeight(saved.head, rowsOf(piece), watched.target());
    if (auto* const captured = watched.captured()) captured->head = std::move(saved.head);
    watched.end();
}

template <class T>
void GptStage<T>::showWeights(int layer, LayerProbe& probe) {
    const ParameterView<T> parameters = parametersOf(layer);
    const FlatRun run = runOf(parameters.parts);
    const LayerPlace place{*queue_, queue_->current(), nullptr, &probe};
    place.show(CheckedTensor::Weights, parameters.exact + run.first, run.size, nullptr);
    if (parameters_.hasRounded()) place.show(CheckedTensor::Weights, parameters.rounded + run.first, run.size, nullptr);
}

template <class T>
void GptStage<T>::computeKnown(CheckedTensor tensor, LayerProbe& probe) {
    if (!known_) known_.emplace(queue_->current());
    known_->compute(tensor, {*queue_, queue_->current(), nullptr, &probe});
}

template class GptStage<float>;
template class GptStage<Bf16>;

} // namespace bubblescope::runtime
