#include "runtime/model/transformer_block.h"

#include <utility>
#include <vector>

namespace bubblescope::runtime {

template <class T>
std::int64_t TransformerBlock<T>::Saved::bytes() const {
    std::int64_t sum = ln1.bytes() + qkv.bytes() + weights.bytes() + attended.bytes() + ln2.bytes() + hidden.bytes() +
                       later_grad.bytes();
    for (const Buffer& one : output_grads)
        sum += one.bytes();
    return sum;
}

template <class T>
Buffer TransformerBlock<T>::forward(Buffer input, std::int64_t tokens, std::span<Saved* const> earlier,
                                    Saved& saved) const {
    saved.ln1 = layers_.normalise(input, tokens, width());
    layers_.show(saved.ln1);
    saved.qkv = layers_.apply(Parts::kQkv, layers_.scaled(Parts::kLn1, saved.ln1, tokens), tokens);
    show(CheckedTensor::Columns, saved.qkv);
    std::vector<const Buffer*> qkv;
    for (const Saved* const slice : earlier)
        qkv.push_back(&slice->qkv);
    saved.attended = attention_.attend(saved.qkv, qkv, tokens, saved.weights);
    show(CheckedTensor::Attention, saved.weights);
    show(CheckedTensor::Attended, saved.attended);
    Buffer between = std::move(input);
    layers_.applyOnto(between, Parts::kProjection, saved.attended, tokens);
    saved.ln2 = layers_.normalise(between, tokens, width());
    layers_.show(saved.ln2);
    saved.hidden = layers_.apply(Parts::kFc1, layers_.scaled(Parts::kLn2, saved.ln2, tokens), tokens);
    show(CheckedTensor::Hidden, saved.hidden);
    layers_.applyOnto(between, Parts::kFc2, layers_.gelu(saved.hidden), tokens);
    show(CheckedTensor::Output, between);
    return between;
}

template <class T>
Buffer TransformerBlock<T>::backwardInput(Buffer output_grad, std::int64_t tokens, std::span<Saved* const> earlier,
                                          Saved& saved) const {
    auto& grads = saved.output_grads;
    grads[Parts::kFc1] = layers_.inputGradient(Parts::kFc2, output_grad, tokens);
    layers_.geluGradient(grads[Parts::kFc1], saved.hidden);
    show(CheckedTensor::HiddenGradient, grads[Parts::kFc1]);
    grads[Parts::kLn2] = layers_.inputGradient(Parts::kFc1, grads[Parts::kFc1], tokens);
    show(CheckedTensor::NormalisedGradient, grads[Parts::kLn2]);
    Buffer between = layers_.normInputGradient(Parts::kLn2, saved.ln2, grads[Parts::kLn2], output_grad, tokens);
    show(CheckedTensor::AttendedGradient, between);
    grads[Parts::kFc2] = std::move(output_grad);

    std::vector<const Buffer*> qkv;
    std::vector<Buffer*> qkv_grads;
    for (Saved* const slice : earlier) {
        qkv.push_back(&slice->qkv);
        if (slice->later_grad.empty()) {
            const std::int64_t values = slice->qkv.bytes() / static_cast<std::int64_t>(sizeof(T)) / 3 * 2;
            slice->later_grad = layers_.template take<float>(values);
            WorkQueue& queue = layers_.queue();
            queue.device().zero(slice->later_grad.template as<void>(), slice->later_grad.bytes(), queue.stream());
        }
        qkv_grads.push_back(&slice->later_grad);
    }
    grads[Parts::kQkv] = attention_.gradient(layers_.inputGradient(Parts::kProjection, between, tokens), saved.qkv, qkv,
                                             tokens, saved.weights, saved.later_grad, qkv_grads);
    show(CheckedTensor::ColumnsGradient, grads[Parts::kQkv]);
    for (const Buffer* const one : qkv_grads)
        layers_.template show<float>(CheckedTensor::EarlierGradient, *one);
    grads[Parts::kLn1] = layers_.inputGradient(Parts::kQkv, grads[Parts::kQkv], tokens);
    show(CheckedTensor::NormalisedGradient, grads[Parts::kLn1]);
    Buffer input_grad = layers_.normInputGradient(Parts::kLn1, saved.ln1, grads[Parts::kLn1], between, tokens);
    show(CheckedTensor::InputGradient, input_grad);
    grads[Parts::kProjection] = std::move(between);

    saved.qkv = Buffer();
    saved.weights = Buffer();
    saved.later_grad = Buffer();
    saved.ln1.inverse_deviations = Buffer();
    saved.ln2.inverse_deviations = Buffer();
    return input_grad;
}

template <class T>
void TransformerBlock<T>::backwardWeight(const Saved& saved, std::int64_t tokens, GradientSum::Target target) const {
    const auto& grads = saved.output_grads;
    layers_.normWeightGradient(Parts::kLn1, saved.ln1, grads[Parts::kLn1], tokens, target);
    layers_.weightGradient(Parts::kQkv, layers_.scaled(Parts::kLn1, saved.ln1, tokens), grads[Parts::kQkv], tokens,
                           target);
    layers_.weightGradient(Parts::kProjection, saved.attended, grads[Parts::kProjection], tokens, target);
    layers_.normWeightGradient(Parts::kLn2, saved.ln2, grads[Parts::kLn2], tokens, target);
    layers_.weightGradient(Parts::kFc1, layers_.scaled(Parts::kLn2, saved.ln2, tokens), grads[Parts::kFc1], tokens,
                           target);
    layers_.weightGradient(Parts::kFc2, layers_.gelu(saved.hidden), grads[Parts::kFc2], tokens, target);
}

template class TransformerBlock<float>;
template class TransformerBlock<Bf16>;

} // namespace bubblescope::runtime
