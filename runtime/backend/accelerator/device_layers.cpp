#include "runtime/backend/accelerator/device_layers.h"

#include <memory>
#include <type_traits>
#include <utility>

namespace bubblescope::runtime {

// A matrix with a row per token is, column by column, its transpose: y = x·W + b is yᵀ = Wᵀ·xᵀ + b.

template <class T>
Gemm DeviceLayers<T>::forward(std::size_t part, const Buffer& input, std::int64_t tokens) const {
    const FlatPart& flat = parameters_.part(part);
    Gemm gemm;
    gemm.rows = flat.columns;
    gemm.columns = tokens;
    gemm.inner = flat.rows;
    gemm.in = gemm.out = kStorage<T>;
    gemm.a = {parameters_.roundedWeight(part), flat.rows, 0, true};
    gemm.b = {input.as<void>(), flat.rows, 0, false};
    gemm.result.leading = flat.columns;
    gemm.bias = parameters_.roundedBias(part);
    return gemm;
}

template <class T>
Buffer DeviceLayers<T>::apply(std::size_t part, const Buffer& input, std::int64_t tokens) const {
    Buffer output = take(tokens * parameters_.part(part).columns);
    Gemm gemm = forward(part, input, tokens);
    gemm.result.data = output.as<void>();
    queue_.device().multiply(gemm, queue_.stream());
    return output;
}

template <class T>
void DeviceLayers<T>::applyOnto(Buffer& output, std::size_t part, const Buffer& input, std::int64_t tokens) const {
    Gemm gemm = forward(part, input, tokens);
    if (summed(part, PartLayout::Cut::Rows)) {
        Buffer own = take<float>(tokens * columns(part));
        gemm.result.data = own.as<void>();
        gemm.out = Storage::Float;
        gemm.bias = nullptr; // it is added once, not once a rank
        queue_.device().multiply(gemm, queue_.stream());
        const Buffer sum = addUp(std::move(own), tokens, columns(part));
        queue_.launch(
            AddWithBiasKernel<T>{output.as<T>(), sum.as<float>(), parameters_.bias(part), tokens, columns(part)});
        return;
    }
    gemm.result.data = output.as<void>();
    gemm.accumulate = true;
    queue_.device().multiply(gemm, queue_.stream());
}

template <class T>
Buffer DeviceLayers<T>::applyExactly(std::size_t part, const Buffer& input, std::int64_t tokens) const {
    Buffer output = take<float>(tokens * parameters_.part(part).columns);
    Gemm gemm = forward(part, input, tokens);
    gemm.result.data = output.as<void>();
    gemm.out = Storage::Float;
    gemm.bias = parameters_.bias(part);
    queue_.device().multiply(gemm, queue_.stream());
    return output;
}

template <class T>
Buffer DeviceLayers<T>::inputGradient(std::size_t part, const Buffer& output_grad, std::int64_t tokens) const {
    const FlatPart& flat = parameters_.part(part);
    const bool summed_up = summed(part, PartLayout::Cut::Columns);
    Buffer grad = summed_up ? take<float>(tokens * flat.rows) : take(tokens * flat.rows);
    Gemm gemm;
    gemm.rows = flat.rows;
    gemm.columns = tokens;
    gemm.inner = flat.columns;
    gemm.in = kStorage<T>;
    gemm.out = summed_up ? Storage::Float : kStorage<T>;
    gemm.a = {parameters_.roundedWeight(part), flat.rows, 0, false};
    gemm.b = {output_grad.as<void>(), flat.columns, 0, false};
    gemm.result = {grad.as<void>(), flat.rows, 0, false};
    queue_.device().multiply(gemm, queue_.stream());
    if (!summed_up) return grad;
    Buffer sum = addUp(std::move(grad), tokens, flat.rows);
    if constexpr (std::is_same_v<T, float>) {
        return sum;
    } else {
        Buffer rounded = take(tokens * flat.rows);
        queue_.launch(RoundKernel{rounded.as<T>(), sum.as<float>(), tokens * flat.rows});
        return rounded;
    }
}

template <class T>
Buffer DeviceLayers<T>::addUp(Buffer part, std::int64_t tokens, std::int64_t columns) const {
    const Tensor sum = sums_->addUp(Tensor(
        std::make_unique<QueuedArray>(rank_.shared_from_this(), std::move(part), tokens, columns, Storage::Float)));
    return std::move(queuedArray(sum).buffer());
}

template <class T>
void DeviceLayers<T>::weightGradient(std::size_t part, const Buffer& input, const Buffer& output_grad,
                                     std::int64_t tokens, DeviceGradientSum::Target target) const {
    const FlatPart& flat = parameters_.part(part);
    Gemm gemm;
    gemm.rows = flat.rows;
    gemm.columns = flat.columns;
    gemm.inner = tokens;
    gemm.in = kStorage<T>;
    gemm.out = Storage::Float;
    gemm.a = {input.as<void>(), flat.rows, 0, false};
    gemm.b = {output_grad.as<void>(), flat.columns, 0, true};
    gemm.result = {target.column + flat.weight, flat.rows, 0, false};
    gemm.accumulate = target.accumulate;
    queue_.device().multiply(gemm, queue_.stream());
    queue_.launch(
        BiasGradientKernel<T>{target.column + flat.bias, output_grad.as<T>(), tokens, flat.columns, target.accumulate});
}

template <class T>
DeviceNormalised DeviceLayers<T>::normalise(const Buffer& input, std::int64_t tokens, std::int64_t width) const {
    DeviceNormalised result{take(tokens * width), take<float>(tokens)};
    queue_.launch(
        NormaliseKernel<T>{result.values.as<T>(), result.inverse_deviations.as<float>(), input.as<T>(), tokens, width});
    return result;
}

template <class T>
Buffer DeviceLayers<T>::scaled(std::size_t part, const DeviceNormalised& normalised, std::int64_t tokens) const {
    const std::int64_t width = parameters_.part(part).columns;
    Buffer output = take(tokens * width);
    queue_.launch(ScaleKernel<T>{output.as<T>(), normalised.values.as<T>(), parameters_.weight(part),
                                 parameters_.bias(part), tokens, width});
    return output;
}

template <class T>
Buffer DeviceLayers<T>::normInputGradient(std::size_t part, const DeviceNormalised& normalised,
                                          const Buffer& output_grad, const Buffer& beside, std::int64_t tokens) const {
    const std::int64_t width = parameters_.part(part).columns;
    Buffer grad = take(tokens * width);
    queue_.launch(NormGradientKernel<T>{grad.as<T>(), beside.as<T>(), output_grad.as<T>(), normalised.values.as<T>(),
                                        normalised.inverse_deviations.as<float>(), parameters_.weight(part), tokens,
                                        width});
    return grad;
}

template <class T>
void DeviceLayers<T>::normWeightGradient(std::size_t part, const DeviceNormalised& normalised,
                                         const Buffer& output_grad, std::int64_t tokens,
                                         DeviceGradientSum::Target target) const {
    const FlatPart& flat = parameters_.part(part);
    queue_.launch(NormWeightGradientKernel<T>{target.column + flat.weight, target.column + flat.bias,
                                              normalised.values.as<T>(), output_grad.as<T>(), tokens, flat.columns,
                                              target.accumulate});
}

template <class T>
Buffer DeviceLayers<T>::gelu(const Buffer& before) const {
    const std::int64_t count = before.bytes() / static_cast<std::int64_t>(sizeof(T));
    Buffer output = take(count);
    queue_.launch(GeluKernel<T>{output.as<T>(), before.as<T>(), count});
    return output;
}

template <class T>
void DeviceLayers<T>::geluGradient(Buffer& grad, const Buffer& before) const {
    queue_.launch(
        GeluGradientKernel<T>{grad.as<T>(), before.as<T>(), before.bytes() / static_cast<std::int64_t>(sizeof(T))});
}

template class DeviceLayers<float>;
template class DeviceLayers<Bf16>;

} // namespace bubblescope::runtime
