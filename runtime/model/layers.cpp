#include "runtime/model/layers.h"

#include <type_traits>
#include <utility>

namespace bubblescope::runtime {

// A matrix with one row per token is the transpose of a column-major matrix, so y = x·W + b is computed as yᵀ = Wᵀ·xᵀ +
// b.

template <class T>
Gemm Layers<T>::forward(std::size_t part, const Buffer& input, std::int64_t tokens) const {
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
Buffer Layers<T>::apply(std::size_t part, const Buffer& input, std::int64_t tokens) const {
    Buffer output = take(tokens * parameters_.part(part).columns);
    Gemm gemm = forward(part, input, tokens);
    gemm.result.data = output.as<void>();
    queue().device().multiply(gemm, queue().stream());
    return output;
}

template <class T>
void Layers<T>::applyOnto(Buffer& output, std::size_t part, const Buffer& input, std::int64_t tokens) const {
    Gemm gemm = forward(part, input, tokens);
    if (summed(part, PartLayout::Cut::Rows)) {
        if (output.shared()) output = queue().copyOf(output);
        Buffer own = take<float>(tokens * columns(part));
        gemm.result.data = own.as<void>();
        gemm.out = Storage::Float;
        gemm.bias = nullptr; // added on one rank only
        queue().device().multiply(gemm, queue().stream());
        const Buffer sum = addUp(std::move(own), tokens, columns(part));
        queue().launch(
            AddWithBiasKernel<T>{output.as<T>(), sum.as<float>(), parameters_.bias(part), tokens, columns(part)});
        return;
    }
    gemm.added = output.as<void>();
    Buffer sum = output.shared() ? take(tokens * columns(part)) : std::move(output);
    gemm.result.data = sum.as<void>();
    queue().device().multiply(gemm, queue().stream());
    output = std::move(sum);
}

template <class T>
Buffer Layers<T>::applyExactly(std::size_t part, const Buffer& input, std::int64_t tokens) const {
    Buffer output = take<float>(tokens * parameters_.part(part).columns);
    Gemm gemm = forward(part, input, tokens);
    gemm.result.data = output.as<void>();
    gemm.out = Storage::Float;
    gemm.bias = parameters_.bias(part);
    queue().device().multiply(gemm, queue().stream());
    return output;
}

template <class T>
Buffer Layers<T>::inputGradient(std::size_t part, const Buffer& output_grad, std::int64_t tokens) const {
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
    queue().device().multiply(gemm, queue().stream());
    if (!summed_up) return grad;
    Buffer sum = addUp(std::move(grad), tokens, flat.rows);
    if constexpr (std::is_same_v<T, float>) {
        return sum;
    } else {
        Buffer rounded = take(tokens * flat.rows);
        queue().launch(RoundKernel{rounded.as<T>(), sum.as<float>(), tokens * flat.rows});
        return rounded;
    }
}

template <class T>
Buffer Layers<T>::addUp(Buffer part, std::int64_t tokens, std::int64_t columns) const {
    show<float>(CheckedTensor::Part, part);
    return place_.sums->addUp(std::move(part), tokens, columns);
}

template <class T>
void Layers<T>::weightGradient(std::size_t part, const Buffer& input, const Buffer& output_grad, std::int64_t tokens,
                               GradientSum::Target target) const {
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
    gemm.added = target.beforeAt(flat.weight);
    queue().device().multiply(gemm, queue().stream());
    queue().launch(BiasGradientKernel<T>{target.column + flat.bias, output_grad.as<T>(), tokens, flat.columns,
                                         target.beforeAt(flat.bias)});
}

template <class T>
void Layers<T>::weightGradient(std::size_t part, std::size_t norm, const Normalised& input, const Buffer& output_grad,
                               std::int64_t tokens, GradientSum::Target target) const {
    const bool kept = !input.scaled.empty();
    const Buffer made = kept ? Buffer() : scaled(norm, input, tokens);
    weightGradient(part, kept ? input.scaled : made, output_grad, tokens, target);
}

template <class T>
Normalised Layers<T>::normalise(const Buffer& input, std::int64_t tokens, std::int64_t width) const {
    Normalised result{take(tokens * width), take<float>(tokens)};
    queue().launch(
        NormaliseKernel<T>{result.values.as<T>(), result.inverse_deviations.as<float>(), input.as<T>(), tokens, width});
    return result;
}

template <class T>
typename Layers<T>::NormalisedInput Layers<T>::normaliseAndScale(std::size_t part, const Buffer& input,
                                                                 std::int64_t tokens) const {
    const std::int64_t width = parameters_.part(part).columns;
    NormalisedInput result;
    if (place_.probe != nullptr && place_.probe->changes()) {
        result.normalised = normalise(input, tokens, width);
        show(result.normalised);
        result.scaled = scaled(part, result.normalised, tokens);
        return result;
    }
    result.normalised = {take(tokens * width), take<float>(tokens)};
    result.scaled = take(tokens * width);
    NormaliseAndScaleKernel<T> kernel{};
    static_cast<NormaliseKernel<T>&>(kernel) = {result.normalised.values.template as<T>(),
                                                result.normalised.inverse_deviations.template as<float>(),
                                                input.as<T>(), tokens, width};
    kernel.output = result.scaled.template as<T>();
    kernel.gain = parameters_.weight(part);
    kernel.bias = parameters_.bias(part);
    queue().launch(kernel);
    show(result.normalised);
    return result;
}

template <class T>
Buffer Layers<T>::scaled(std::size_t part, const Normalised& normalised, std::int64_t tokens) const {
    const std::int64_t width = parameters_.part(part).columns;
    Buffer output = take(tokens * width);
    queue().launch(ScaleKernel<T>{output.as<T>(), normalised.values.as<T>(), parameters_.weight(part),
                                  parameters_.bias(part), tokens, width});
    return output;
}

template <class T>
Buffer Layers<T>::normInputGradient(std::size_t part, const Normalised& normalised, const Buffer& output_grad,
                                    const Buffer& beside, std::int64_t tokens) const {
    const std::int64_t width = parameters_.part(part).columns;
    Buffer grad = take(tokens * width);
    queue().launch(NormGradientKernel<T>{grad.as<T>(), beside.as<T>(), output_grad.as<T>(), normalised.values.as<T>(),
                                         normalised.inverse_deviations.as<float>(), parameters_.weight(part), tokens,
                                         width});
    return grad;
}

template <class T>
void Layers<T>::normWeightGradient(std::size_t part, const Normalised& normalised, const Buffer& output_grad,
                                   std::int64_t tokens, GradientSum::Target target) const {
    const FlatPart& flat = parameters_.part(part);
    queue().launch(NormWeightGradientKernel<T>{target.column + flat.weight, target.column + flat.bias,
                                               normalised.values.as<T>(), output_grad.as<T>(), tokens, flat.columns,
                                               target.beforeAt(flat.weight), target.beforeAt(flat.bias)});
}

template <class T>
Buffer Layers<T>::gelu(const Buffer& before) const {
    const std::int64_t count = before.bytes() / static_cast<std::int64_t>(sizeof(T));
    Buffer output = take(count);
    queue().launch(GeluKernel<T>{output.as<T>(), before.as<T>(), count});
    return output;
}

template <class T>
void Layers<T>::geluGradient(Buffer& grad, const Buffer& before) const {
    queue().launch(
        GeluGradientKernel<T>{grad.as<T>(), before.as<T>(), before.bytes() / static_cast<std::int64_t>(sizeof(T))});
}

template class Layers<float>;
template class Layers<Bf16>;

} // namespace bubblescope::runtime
