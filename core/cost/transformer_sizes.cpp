#include "core/cost/memory_estimate.h"

#include "core/cost/model_flops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace bubblescope {
namespace {

/// Products of sizes may exceed 64 bits before they are checked.
__extension__ using Wide = __int128;
constexpr std::int64_t kMaxParameters = std::int64_t{1} << 60U;

Status checkShape(const TransformerShape& shape) {
    const auto needs = [](std::int64_t value, std::string_view name, std::int64_t max) -> Status {
        if (value >= 1 && value <= max) return {};
        return usageError(fmt::format("the transformer's \"{}\" is {}", name, value),
                          fmt::format("use a number from 1 to {}", max));
    };
    constexpr std::int64_t kMillion = 1'000'000;
    BUBBLESCOPE_TRY(needs(shape.layers, "layers", kMillion));
    BUBBLESCOPE_TRY(needs(shape.hidden, "hidden", 100 * kMillion));
    BUBBLESCOPE_TRY(needs(shape.heads, "heads", kMillion));
    BUBBLESCOPE_TRY(needs(shape.kv_heads, "kv_heads", shape.heads));
    BUBBLESCOPE_TRY(needs(shape.ffn, "ffn", 1000 * kMillion));
    BUBBLESCOPE_TRY(needs(shape.sequence, "sequence", 1000 * kMillion));
    BUBBLESCOPE_TRY(needs(shape.microbatch, "microbatch", kMillion));
    BUBBLESCOPE_TRY(needs(shape.vocabulary + 1, "vocabulary", 1000 * kMillion));
    BUBBLESCOPE_TRY(needs(shape.tp, "tp", shape.heads));
    BUBBLESCOPE_TRY(needs(shape.dtype_bytes, "dtype_bytes", 16));
    const auto divides = [](std::int64_t value, std::string_view name, std::int64_t by,
                            std::string_view by_name) -> Status {
        if (value % by == 0) return {};
        return usageError(
            fmt::format("the transformer's \"{}\" is {}, not a multiple of its \"{}\", {}", name, value, by_name, by),
            "correct one of the two");
    };
    if (shape.head_size == 0) BUBBLESCOPE_TRY(divides(shape.hidden, "hidden", shape.heads, "heads"));
    BUBBLESCOPE_TRY(needs(shape.head_size, "head_size", 1000 * kMillion / shape.heads));
    BUBBLESCOPE_TRY(divides(shape.heads, "heads", shape.kv_heads, "kv_heads"));
    BUBBLESCOPE_TRY(divides(shape.kv_heads, "kv_heads", shape.tp, "tp"));
    BUBBLESCOPE_TRY(divides(shape.ffn, "ffn", shape.tp, "tp"));
    if (shape.sequence_parallel) BUBBLESCOPE_TRY(divides(shape.sequence, "sequence", shape.tp, "tp"));
    BUBBLESCOPE_TRY(needs(shape.latent.query + 1, "latent query size", kMillion));
    BUBBLESCOPE_TRY(needs(shape.latent.keys + 1, "latent key size", kMillion));
    BUBBLESCOPE_TRY(needs(shape.latent.rope + 1, "rope size", 1000 * kMillion / shape.heads));
    const Experts& experts = shape.experts;
    BUBBLESCOPE_TRY(needs(experts.count + 1, "experts", kMillion));
    if (experts.count == 0) return {};
    BUBBLESCOPE_TRY(needs(experts.top_k, "top_k", experts.count));
    BUBBLESCOPE_TRY(needs(experts.ffn, "expert_ffn", 1000 * kMillion));
    BUBBLESCOPE_TRY(needs(experts.shared_ffn + 1, "shared_ffn", 1000 * kMillion));
    BUBBLESCOPE_TRY(needs(experts.dense_layers + 1, "dense_layers", shape.layers));
    BUBBLESCOPE_TRY(needs(experts.ranks, "ep", experts.count));
    BUBBLESCOPE_TRY(divides(experts.count, "experts", experts.ranks, "ep"));
    return divides(experts.shared_ffn, "shared_ffn", shape.tp, "tp");
}

/// Sizes of a validated shape, computed with the formulas in the header.
class Transformer {
public:
    explicit Transformer(const TransformerShape& shape)
        : shape_(shape), widths_(attentionWidths(shape)), tokens_(Wide{shape.sequence} * shape.microbatch),
          d_(shape.dtype_bytes), h_(shape.hidden), t_(shape.tp), r_(shape.sequence_parallel ? shape.tp : 1),
          v_((shape.vocabulary + shape.tp - 1) / shape.tp), products_(shape.swiglu ? 3 : 2) {}

    LayerSizes layer(bool experts) {
        const Experts& own = shape_.experts;
        const Wide f = experts ? own.shared_ffn : shape_.ffn;
        const AttentionWeights attention = attentionWeights(shape_);
        LayerSizes sizes;
        sizes.parameters = narrow((attention.split + products_ * h_ * f) / t_ + attention.whole + norm() * 2 +
                                  biases(f) + (experts ? h_ * own.count : 0));
        if (experts) {
            sizes.expert_parameters = narrow(Wide{own.count / own.ranks} * products_ * h_ * own.ffn);
            sizes.parameters = narrow(Wide{sizes.parameters} + sizes.expert_parameters);
        }
        setActivations(sizes, f, experts);
        return sizes;
    }

    LayerSizes embedding() {
        LayerSizes sizes;
        if (shape_.vocabulary == 0) return sizes;
        sizes.parameters = narrow(v_ * h_);
        sizes.activation = shape_.dropout ? narrow(tokens_ * h_ / r_) : 0;
        sizes.until_weight_grad = narrow(tokens_ * d_ * h_ / r_);
        return sizes;
    }

    LayerSizes head() {
        LayerSizes sizes;
        if (shape_.vocabulary == 0) return sizes;
        sizes.parameters = narrow(v_ * h_ + norm());
        sizes.activation = narrow(tokens_ * (2 * d_ * h_ / r_ + 4 * v_));
        sizes.until_weight_grad = narrow(tokens_ * (d_ * h_ / r_ + d_ * v_));
        return sizes;
    }

    /// True if a size is too large to add up.
    [[nodiscard]] bool overflow() const { return overflow_; }

private:
    [[nodiscard]] Wide norm() const { return (shape_.swiglu ? 1 : 2) * h_; }
    [[nodiscard]] Wide biases(Wide f) const {
        return shape_.swiglu ? Wide{0} : (widths_.query + widths_.key + widths_.value + f) / t_ + 2 * h_;
    }
    [[nodiscard]] Wide scores() const {
        const Wide each = shape_.dropout ? 2 * d_ + 1 : d_;
        return tokens_ * shape_.heads * shape_.sequence * each / t_;
    }

    /// `f` is the size of the feed-forward that all tokens pass.
    void setActivations(LayerSizes& sizes, Wide f, bool experts) {
        const Wide input = tokens_ * d_ * h_ / r_;
        const Wide latent = tokens_ * 2 * d_ * widths_.latent / r_; // before and after its norm
        const Wide split = tokens_ * (d_ * widths_.heads() + products_ * d_ * f) / t_ + latent;
        const Wide masks = shape_.dropout ? tokens_ * 2 * h_ / r_ : 0;
        const Wide routed = experts ? tokens_ * shape_.experts.top_k * d_ / r_ : 0; // per element of routed tokens
        const Wide inside = products_ * shape_.experts.ffn;
        const Wide kept = 4 * input + split + masks + routed * (h_ + inside) + (shape_.flash_attention ? 0 : scores());
        Wide held = kept;
        switch (shape_.recompute) {
        case TransformerShape::Recompute::None: break;
        case TransformerShape::Recompute::Attention: held -= shape_.flash_attention ? 0 : scores(); break;
        case TransformerShape::Recompute::Full: held = input; break;
        case TransformerShape::Recompute::Selective:
            held = 2 * input + tokens_ * d_ * (widths_.query + widths_.value + widths_.result + f) / t_ +
                   routed * (h_ + shape_.experts.ffn);
            break;
        }
        sizes.activation = narrow(held);
        sizes.input = narrow(input);
        sizes.backward_workspace = narrow(kept - held);
        sizes.until_weight_grad = narrow(4 * input + split + routed * (2 * h_ + inside));
    }

    std::int64_t narrow(Wide value) {
        overflow_ |= value > kMaxParameters;
        return static_cast<std::int64_t>(std::min(value, Wide{kMaxParameters}));
    }

    const TransformerShape& shape_;
    AttentionWidths widths_;
    Wide tokens_;
    Wide d_;
    Wide h_;
    Wide t_;
    Wide r_;
    Wide v_;
    Wide products_; ///< of a feed-forward
    bool overflow_ = false;
};

} // namespace

AttentionWidths attentionWidths(const TransformerShape& shape) {
    AttentionWidths widths;
    widths.query = shape.heads * (shape.head_size + shape.latent.rope);
    widths.key = shape.kv_heads * (shape.head_size + shape.latent.rope);
    widths.value = shape.kv_heads * shape.head_size;
    widths.result = shape.heads * shape.head_size;
    if (shape.latent.keys > 0) widths.latent = shape.latent.query + shape.latent.keys + shape.latent.rope;
    return widths;
}

AttentionWeights attentionWeights(const TransformerShape& shape) {
    const AttentionWidths widths = attentionWidths(shape);
    const LatentAttention& latent = shape.latent;
    if (latent.keys == 0) return {shape.hidden * widths.heads(), 0};
    // The position part of the keys is shared by all heads, so it is not projected up.
    const std::int64_t keys_up = latent.keys * shape.kv_heads * 2 * shape.head_size;
    return {latent.query * widths.query + keys_up + widths.result * shape.hidden, shape.hidden * widths.latent};
}

Result<ModelSizes> transformerSizes(const TransformerShape& given) {
    const TransformerShape shape = withDefaults(given);
    BUBBLESCOPE_TRY(checkShape(shape));
    Transformer transformer(shape);
    ModelSizes sizes;
    const auto layers = static_cast<std::size_t>(shape.layers);
    const auto dense = shape.experts.count == 0 ? layers : static_cast<std::size_t>(shape.experts.dense_layers);
    sizes.layers.assign(dense, transformer.layer(false));
    if (dense < layers) sizes.layers.resize(layers, transformer.layer(true));
    sizes.first = transformer.embedding();
    sizes.last = transformer.head();
    sizes.weight_bytes = shape.dtype_bytes;
    sizes.gradient_bytes = shape.dtype_bytes;
    if (transformer.overflow()) return usageError("the transformer's layers exceed an exbibyte", "correct its sizes");
    return sizes;
}

} // namespace bubblescope
