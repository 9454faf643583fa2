#pragma once

#include "core/base/result.h"
#include "core/cost/memory_estimate.h"

#include <cstdint>

namespace bubblescope {

/// Floating-point operations that a token needs in the forward pass. A multiply-add counts as two; recomputation and
/// element-wise operations do not count. The backward pass needs twice as many. With h the hidden size, h_kv = h ·
/// kv_heads / heads, f the feed-forward size and s the sequence length, per layer:
///
///     products:   2h(2h + 2h_kv) + 4hf        (SwiGLU: 6hf)
///     attention:  2sh                         causal: a token attends to s/2 others on average, in two products
///
/// Heads of another size, and latent attention, count as attentionWeights() and attentionWidths() state. A layer with
/// experts counts those that a token passes, f = top_k · f_e + shared, and the router: 2h · experts. The head adds 2hV.
struct ForwardFlops {
    double products = 0;  ///< of all layers
    double attention = 0; ///< of all layers, causal: half of the full square
    double head = 0;

    [[nodiscard]] double all() const { return products + attention + head; }
};

/// `shape` needs neither a micro-batch nor tp. Errors: Usage, as for transformerSizes().
[[nodiscard]] Result<ForwardFlops> forwardFlops(const TransformerShape& shape);

/// Operations per token in the forward and backward pass: 3 · forwardFlops().all().
[[nodiscard]] inline double trainingFlops(const ForwardFlops& forward) {
    return 3 * forward.all();
}

/// The model's parameters: layers, embedding and head. Errors: Usage.
[[nodiscard]] Result<std::int64_t> parameterCount(const TransformerShape& shape);

/// Returns `shape` with kv_heads, ffn and head_size filled in if they are 0.
[[nodiscard]] TransformerShape withDefaults(TransformerShape shape);

} // namespace bubblescope
