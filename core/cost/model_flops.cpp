#include "core/cost/model_flops.h"

#include <algorithm>

namespace bubblescope {
namespace {

TransformerShape onOneDevice(TransformerShape shape) {
    shape = withDefaults(shape);
    shape.tp = 1;
    shape.microbatch = 1;
    shape.sequence_parallel = false;
    shape.experts.ranks = 1;
    return shape;
}

} // namespace

TransformerShape withDefaults(TransformerShape shape) {
    if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
    if (shape.ffn == 0) shape.ffn = 4 * std::min(shape.hidden, std::int64_t{1} << 40U);
    if (shape.head_size == 0 && shape.heads > 0 && shape.hidden % shape.heads == 0)
        shape.head_size = shape.hidden / shape.heads;
    return shape;
}

Result<ForwardFlops> forwardFlops(const TransformerShape& given) {
    const TransformerShape shape = onOneDevice(given);
    BUBBLESCOPE_TRY(transformerSizes(shape));
    const auto real = [](std::int64_t number) { return static_cast<double>(number); };
    const double h = real(shape.hidden);
    const double gates = shape.swiglu ? 6 : 4;
    const Experts& experts = shape.experts;
    const double routing = experts.count == 0 ? 0 : real(shape.layers - experts.dense_layers);
    const double dense = real(shape.layers) - routing;
    const AttentionWeights weights = attentionWeights(shape);
    const AttentionWidths widths = attentionWidths(shape);
    ForwardFlops flops;
    flops.products =
        real(shape.layers) * 2 * (real(weights.split) + real(weights.whole)) + dense * gates * h * real(shape.ffn) +
        routing * (gates * h * real(experts.top_k * experts.ffn + experts.shared_ffn) + 2 * h * real(experts.count));
    flops.attention = real(shape.layers) * real(shape.sequence) * real(widths.query + widths.result);
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
