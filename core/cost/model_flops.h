#pragma once

#include "core/base/result.h"
#include "core/cost/memory_estimate.h"

#include <cstdint>

namespace bubblescope {

/// Counts the floating-point operations per token in the forward pass. A multiply-add counts as two operations;
/// recomputation and element-wise operations are not counted. The backward pass needs twice as many operations. With
/// hidden size h, h_kv = h · kv_heads / heads, feed-forward size f and sequence length s, per layer:
///
///     products:   2h(2h + 2h_kv) + 4hf        (SwiGLU: 6hf)
///     attention:  2sh                         causal: a token attends to s/2 others on average, in two products
///
/// Other head sizes, and latent attention, count as in attentionWeights() and attentionWidths(). A layer with experts
/// counts those that process a token, f = top_k · f_e + shared, and the router: 2h · experts. The head adds 2hV.
struct ForwardFlops {
    double products = 0;  ///< sum over all layers
    double attention = 0; ///< sum over all layers; half of the score matrix, because attention is causal
    double head = 0;

    [[nodiscard]] double all() const { return products + attention + head; }
};

/// `shape` does not need a micro-batch or tp. Errors: Usage, in the same cases as for transformerSizes().
[[nodiscard]] Result<ForwardFlops> forwardFlops(const TransformerShape& shape);

/// Operations per token in the forward and backward pass together: 3 · forwardFlops().all().
[[nodiscard]] inline double trainingFlops(const ForwardFlops& forward) {
    return 3 * forward.all();
}

/// Number of parameters of the model's layers, embedding and head. Errors: Usage.
[[nodiscard]] Result<std::int64_t> parameterCount(const TransformerShape& shape);

/// Returns `shape` with default values for kv_heads, ffn and head_size where they are 0.
[[nodiscard]] TransformerShape withDefaults(TransformerShape shape);

} // namespace bubblescope
