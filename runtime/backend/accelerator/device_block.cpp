#include "runtime/backend/accelerator/device_block.h"

#include <utility>
#include <vector>

namespace bubblescope::runtime {

template <class T>
std::int64_t DeviceBlock<T>::Kept::bytes() const {
    std::int64_t sum =
        before.bytes() + columns.bytes() + attended.bytes() + between.bytes() + up.bytes() + later_grad.bytes();
    for (const Buffer& one : output_grads)
        sum += one.bytes();
    return sum;
}

template <class T>
Buffer DeviceBlock<T>::forward(Buffer input, std::int64_t tokens, std::span<Kept* const> earlier, Kept& kept) const {
    kept.before = layers_.normalise(input, tokens, width());
    show(kept.before);
    kept.columns =
        layers_.apply(at(Parts::kColumns), layers_.scaled(at(Parts::kNormBefore), kept.before, tokens), tokens);
    show(CheckedTensor::Columns, kept.columns);
    std::vector<const Buffer*> columns;
    for (const Kept* const slice : earlier)
        columns.push_back(&slice->columns);
    kept.attended = attention_.attend(kept.columns, columns, tokens);
    show(CheckedTensor::Attended, kept.attended);
    Buffer between = std::move(input);
    layers_.applyOnto(between, at(Parts::kProjection), kept.attended, tokens);
    kept.between = layers_.normalise(between, tokens, width());
    show(kept.between);
    kept.up = layers_.apply(at(Parts::kUp), layers_.scaled(at(Parts::kNormBetween), kept.between, tokens), tokens);
    show(CheckedTensor::Hidden, kept.up);
    layers_.applyOnto(between, at(Parts::kDown), layers_.gelu(kept.up), tokens);
    show(CheckedTensor::Output, between);
    return between;
}

template <class T>
Buffer DeviceBlock<T>::backwardInput(Buffer output_grad, std::int64_t tokens, std::span<Kept* const> earlier,
                                     Kept& kept) const {
    auto& grads = kept.output_grads;
    grads[Parts::kUp] = layers_.inputGradient(at(Parts::kDown), output_grad, tokens);
    layers_.geluGradient(grads[Parts::kUp], kept.up);
    show(CheckedTensor::HiddenGradient, grads[Parts::kUp]);
    grads[Parts::kNormBetween] = layers_.inputGradient(at(Parts::kUp), grads[Parts::kUp], tokens);
    show(CheckedTensor::NormalisedGradient, grads[Parts::kNormBetween]);
    Buffer between = layers_.normInputGradient(at(Parts::kNormBetween), kept.between, grads[Parts::kNormBetween],
                                               output_grad, tokens);
    show(CheckedTensor::AttendedGradient, between);
    grads[Parts::kDown] = std::move(output_grad);

    std::vector<const Buffer*> columns;
    std::vector<Buffer*> columns_grads;
    for (Kept* const slice : earlier) {
        columns.push_back(&slice->columns);
        if (slice->later_grad.empty()) {
            const std::int64_t values = slice->columns.bytes() / static_cast<std::int64_t>(sizeof(T)) / 3 * 2;
            slice->later_grad = layers_.template take<float>(values);
            WorkQueue& queue = layers_.queue();
            queue.device().zero(slice->later_grad.template as<void>(), slice->later_grad.bytes(), queue.stream());
        }
        columns_grads.push_back(&slice->later_grad);
    }
    grads[Parts::kColumns] = attention_.gradient(layers_.inputGradient(at(Parts::kProjection), between, tokens),
                                                 kept.columns, columns, tokens, kept.later_grad, columns_grads);
    show(CheckedTensor::ColumnsGradient, grads[Parts::kColumns]);
    for (const Buffer* const one : columns_grads)
        layers_.template show<float>(probe_, CheckedTensor::EarlierGradient, *one);
    grads[Parts::kNormBefore] = layers_.inputGradient(at(Parts::kColumns), grads[Parts::kColumns], tokens);
    show(CheckedTensor::NormalisedGradient, grads[Parts::kNormBefore]);
    Buffer input_grad =
        layers_.normInputGradient(at(Parts::kNormBefore), kept.before, grads[Parts::kNormBefore], between, tokens);
    show(CheckedTensor::InputGradient, input_grad);
    grads[Parts::kProjection] = std::move(between);

    kept.columns = Buffer();
    kept.later_grad = Buffer();
    kept.before.inverse_deviations = Buffer();
    kept.between.inverse_deviations = Buffer();
    return input_grad;
}

template <class T>
void DeviceBlock<T>::backwardWeight(const Kept& kept, std::int64_t tokens, DeviceGradientSum::Target target) const {
    const auto& grads = kept.output_grads;
    layers_.normWeightGradient(at(Parts::kNormBefore), kept.before, grads[Parts::kNormBefore], tokens, target);
    layers_.weightGradient(at(Parts::kColumns), layers_.scaled(at(Parts::kNormBefore), kept.before, tokens),
                           grads[Parts::kColumns], tokens, target);
    layers_.weightGradient(at(Parts::kProjection), kept.attended, grads[Parts::kProjection], tokens, target);
    layers_.normWeightGradient(at(Parts::kNormBetween), kept.between, grads[Parts::kNormBetween], tokens, target);
    layers_.weightGradient(at(Parts::kUp), layers_.scaled(at(Parts::kNormBetween), kept.between, tokens),
                           grads[Parts::kUp], tokens, target);
    layers_.weightGradient(at(Parts::kDown), layers_.gelu(kept.up), grads[Parts::kDown], tokens, target);
}

template class DeviceBlock<float>;
template class DeviceBlock<Bf16>;

} // namespace bubblescope::runtime
