#pragma once

#include "core/base/result.h"
#include "core/cost/memory_estimate.h"

#include <cstdint>

namespace bubblescope {

/// Floating-point operations that a token needs in the forward pass. A multiplication with its addition counts as two,
/// recomputation and everything element-wise as none. The backward pass needs twice as many. With h hidden, h_kv
/// hidden · kv_heads / heads, f feed-forward and s tokens of a sequence, per layer:
///
///     products:   2h(2h + 2h_kv) + 4hf        (SwiGLU: 6hf)
///     attention:  2sh                         causal: a token attends to s/2 others on average, in two products
///
/// and for the head 2hV.
struct ForwardFlops {
    double products = 0;  ///< of all layers
    double attention = 0; ///< of all layers, causal: half of the full square
    double head = 0;

    [[nodiscard]] double all() const { return products + attention + head; }
};

/// `shape` needs neither a micro-batch nor tp. Errors: Usage, as transformerSizes().
[[nodiscard]] Result<ForwardFlops> forwardFlops(const TransformerShape& shape);

/// Of a token's forward and backward pass: 3 · forwardFlops().all().
[[nodiscard]] inline double trainingFlops(const ForwardFlops& forward) {
    return 3 * forward.all();
}

/// The model's parameters: layers, embedding and head. Errors: Usage.
[[nodiscard]] Result<std::int64_t> parameterCount(const TransformerShape& shape);

/// kv_heads and ffn filled in where they are 0.
[[nodiscard]] TransformerShape withDefaults(TransformerShape shape);

} // namespace bubblescope
