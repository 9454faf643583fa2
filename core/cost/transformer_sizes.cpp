#include "core/cost/memory_estimate.h"

#include "core/cost/model_flops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace bubblescope {
namespace {

/// Products of sizes may exceed 64 bits before they are checked.
__extension__ using Wide = __int128;
constexpr std::int64_t kMaxParameters = std::int64_t{1} << 60U;

Status checkShape(const TransformerShape& shape) {
    const auto needs = [](std::int64_t value, std::string_view name, std::int64_t max) -> Status {
        if (value >= 1 && value <= max) return {};
        return usageError(fmt::format("\"{}\" of the transformer is {}", name, value),
                          fmt::format("give a number from 1 to {}", max));
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
            fmt::format("\"{}\" of the transformer is {}, not a multiple of its \"{}\", {}", name, value, by_name, by),
            "correct one of the two");
    };
    BUBBLESCOPE_TRY(divides(shape.hidden, "hidden", shape.heads, "heads"));
    BUBBLESCOPE_TRY(divides(shape.heads, "heads", shape.kv_heads, "kv_heads"));
    BUBBLESCOPE_TRY(divides(shape.kv_heads, "kv_heads", shape.tp, "tp"));
    BUBBLESCOPE_TRY(divides(shape.ffn, "ffn", shape.tp, "tp"));
    if (shape.sequence_parallel) BUBBLESCOPE_TRY(divides(shape.sequence, "sequence", shape.tp, "tp"));
    return {};
}

/// The sizes of a validated shape, each computed with the formula in the header.
class Transformer {
public:
    explicit Transformer(const TransformerShape& shape)
        : shape_(shape), tokens_(Wide{shape.sequence} * shape.microbatch), d_(shape.dtype_bytes), h_(shape.hidden),
          h_kv_(h_ * shape.kv_heads / shape.heads), f_(shape.ffn), t_(shape.tp),
          r_(shape.sequence_parallel ? shape.tp : 1), v_((shape.vocabulary + shape.tp - 1) / shape.tp) {}

    LayerSizes layer() {
        const Wide products = shape_.swiglu ? 3 : 2;
        LayerSizes sizes;
        sizes.parameters = narrow((h_ * (2 * h_ + 2 * h_kv_) + products * h_ * f_) / t_ + norm() * 2 + biases());
        const Wide input = tokens_ * d_ * h_ / r_;
        const Wide split = tokens_ * ((2 * d_ * h_ + 2 * d_ * h_kv_) + products * d_ * f_) / t_;
        const Wide masks = shape_.dropout ? tokens_ * 2 * h_ / r_ : 0;
        const Wide kept = 4 * input + split + masks + (shape_.flash_attention ? 0 : scores());
        switch (shape_.recompute) {
        case TransformerShape::Recompute::None: sizes.activation = narrow(kept); break;
        case TransformerShape::Recompute::Attention:
            sizes.backward_workspace = shape_.flash_attention ? 0 : narrow(scores());
            sizes.activation = narrow(kept) - sizes.backward_workspace;
            break;
        case TransformerShape::Recompute::Full:
            sizes.activation = narrow(input);
            sizes.backward_workspace = narrow(kept - input);
            break;
        }
        sizes.until_weight_grad = narrow(4 * input + split);
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
    [[nodiscard]] Wide biases() const { return shape_.swiglu ? Wide{0} : (h_ + 2 * h_kv_ + f_) / t_ + 2 * h_; }
    [[nodiscard]] Wide scores() const {
        const Wide each = shape_.dropout ? 2 * d_ + 1 : d_;
        return tokens_ * shape_.heads * shape_.sequence * each / t_;
    }

    std::int64_t narrow(Wide value) {
        overflow_ |= value > kMaxParameters;
        return static_cast<std::int64_t>(std::min(value, Wide{kMaxParameters}));
    }

    const TransformerShape& shape_;
    Wide tokens_;
    Wide d_;
    Wide h_;
    Wide h_kv_;
    Wide f_;
    Wide t_;
    Wide r_;
    Wide v_;
    bool overflow_ = false;
};

} // namespace

Result<ModelSizes> transformerSizes(const TransformerShape& given) {
    const TransformerShape shape = withDefaults(given);
    BUBBLESCOPE_TRY(checkShape(shape));
    Transformer transformer(shape);
    ModelSizes sizes;
    sizes.layers.assign(static_cast<std::size_t>(shape.layers), transformer.layer());
    sizes.first = transformer.embedding();
    sizes.last = transformer.head();
    sizes.weight_bytes = shape.dtype_bytes;
    sizes.gradient_bytes = shape.dtype_bytes;
    if (transformer.overflow()) return usageError("the transformer's layers exceed an exbibyte", "correct its sizes");
    return sizes;
}

} // namespace bubblescope
