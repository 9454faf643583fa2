#include "runtime/backend/accelerator/device_gpt.h"

#include "runtime/model/text_data.h"

namespace bubblescope::runtime {

template <class T>
LayerRange DeviceGpt<T>::range() const {
    const int ends = (first() ? 1 : 0) + (last() ? 1 : 0);
    return {first() ? 0 : blockNumber(0), config_.layersAt(task_.place) + ends};
}

template <class T>
FlatRun DeviceGpt<T>::weightsOf(int layer) const {
    const auto parts = [&](std::size_t from, std::size_t count) {
        return runOf(parameters_.part(from), parameters_.part(from + count - 1));
    };
    if (layer == 0) return parts(0, 2);
    const int i = layer - blockNumber(0);
    if (i >= config_.layersAt(task_.place)) return parts(head() - 1, 2);
    return parts(firstPart(static_cast<std::size_t>(i)), Block::Parts::kParts);
}

template <class T>
Buffer DeviceGpt<T>::embed(const Buffer& tokens, DeviceRows rows, LayerProbe* probe) const {
    Buffer output = layers_.take(rows.tokens * config_.width);
    layers_.queue().launch(EmbedKernel<T>{output.as<T>(), tokens.as<int>(), parameters_.weight(0),
                                          parameters_.weight(1), rows.tokens, config_.width, TextData::kVocabulary,
                                          config_.sequence, rows.begin, rows.length});
    layers_.show(probe, CheckedTensor::Output, output);
    return output;
}

template <class T>
void DeviceGpt<T>::embeddingGradient(const Buffer& tokens, const Buffer& grad, DeviceRows rows,
                                     DeviceGradientSum::Target target) const {
    WorkQueue& queue = layers_.queue();
    queue.launch(TokenTableGradientKernel<T>{target.column + parameters_.part(0).weight, grad.as<T>(), tokens.as<int>(),
                                             rows.tokens, config_.width, TextData::kVocabulary, target.accumulate});
    queue.launch(PositionTableGradientKernel<T>{target.column + parameters_.part(1).weight, grad.as<T>(), config_.width,
                                                config_.sequence, config_.batch, rows.begin, rows.length,
                                                target.accumulate});
}

template <class T>
typename DeviceGpt<T>::Block DeviceGpt<T>::block(std::size_t i, LayerProbe* probe) const {
    return Block(layers_, firstPart(i),
                 {config_.batch, config_.heads / task_.shard.size, std::int64_t{config_.width} / task_.shard.size},
                 probe);
}

template <class T>
void DeviceGpt<T>::headForward(const Buffer& input, const Buffer& targets, DeviceRows rows, Head& keep, double* loss,
                               LayerProbe* probe) const {
    WorkQueue& queue = layers_.queue();
    keep.normalised = layers_.normalise(input, rows.tokens, config_.width);
    layers_.show(probe, CheckedTensor::Normalised, keep.normalised.values);
    layers_.template show<float>(probe, CheckedTensor::Deviations, keep.normalised.inverse_deviations);
    const Buffer logits =
        layers_.applyExactly(head(), layers_.scaled(head() - 1, keep.normalised, rows.tokens), rows.tokens);
    const Buffer row_losses = layers_.template take<float>(rows.tokens);
    keep.logits_grad = layers_.take(rows.tokens * TextData::kVocabulary);
    const float share = 1.0F / static_cast<float>(config_.batch * config_.sequence);
    queue.launch(CrossEntropyKernel<T>{keep.logits_grad.template as<T>(), row_losses.as<float>(), logits.as<float>(),
                                       targets.as<int>(), rows.tokens, TextData::kVocabulary, share});
    queue.launch(LossKernel{loss, row_losses.as<float>(), rows.tokens,
                            1.0 / static_cast<double>(config_.batch * config_.sequence)});
    // A double is shown as the two floats that its bits make.
    layers_.showRun(probe, CheckedTensor::Loss, static_cast<float*>(static_cast<void*>(loss)), 2);
    layers_.show(probe, CheckedTensor::LogitsGradient, keep.logits_grad);
}

template <class T>
Buffer DeviceGpt<T>::headInputGradient(const Head& keep, Buffer& normalised_grad, DeviceRows rows,
                                       LayerProbe* probe) const {
    normalised_grad = layers_.inputGradient(head(), keep.logits_grad, rows.tokens);
    layers_.show(probe, CheckedTensor::NormalisedGradient, normalised_grad);
    Buffer grad = layers_.normInputGradient(head() - 1, keep.normalised, normalised_grad, {}, rows.tokens);
    layers_.show(probe, CheckedTensor::InputGradient, grad);
    return grad;
}

template <class T>
void DeviceGpt<T>::headWeightGradient(const Head& keep, DeviceRows rows, DeviceGradientSum::Target target) const {
    layers_.normWeightGradient(head() - 1, keep.normalised, keep.normalised_grad, rows.tokens, target);
    layers_.weightGradient(head(), layers_.scaled(head() - 1, keep.normalised, rows.tokens), keep.logits_grad,
                           rows.tokens, target);
}

template class DeviceGpt<float>;
template class DeviceGpt<Bf16>;

} // namespace bubblescope::runtime
