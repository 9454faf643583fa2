#include "core/cost/model_flops.h"

#include <algorithm>

namespace bubblescope {
namespace {

TransformerShape onOneDevice(TransformerShape shape) {
    shape = withDefaults(shape);
    shape.tp = 1;
    shape.microbatch = 1;
    shape.sequence_parallel = false;
    return shape;
}

} // namespace

TransformerShape withDefaults(TransformerShape shape) {
    if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
    if (shape.ffn == 0) shape.ffn = 4 * std::min(shape.hidden, std::int64_t{1} << 40U);
    return shape;
}

Result<ForwardFlops> forwardFlops(const TransformerShape& given) {
    const TransformerShape shape = onOneDevice(given);
    BUBBLESCOPE_TRY(transformerSizes(shape));
    const auto real = [](std::int64_t number) { return static_cast<double>(number); };
    const double h = real(shape.hidden);
    const double h_kv = h * real(shape.kv_heads) / real(shape.heads);
    const double layers = real(shape.layers);
    ForwardFlops flops;
    flops.products = layers * (2 * h * (2 * h + 2 * h_kv) + (shape.swiglu ? 6 : 4) * h * real(shape.ffn));
    flops.attention = layers * 2 * real(shape.sequence) * h;
    flops.head = 2 * h * real(shape.vocabulary);
    return flops;
}

Result<std::int64_t> parameterCount(const TransformerShape& shape) {
    BUBBLESCOPE_ASSIGN(const ModelSizes sizes, transformerSizes(onOneDevice(shape)));
    LayerSizes sum;
    for (const LayerSizes& layer : sizes.layers)
        sum += layer;
    sum += sizes.first;
    sum += sizes.last;
    return sum.parameters;
}

} // namespace bubblescope
