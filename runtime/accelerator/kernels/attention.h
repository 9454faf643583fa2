#pragma once

#include "runtime/accelerator/kernels/portable.h"

namespace bubblescope::runtime {

// Causal self-attention of all heads of all sequences in one kernel that never writes scores or weights to memory (Dao
// and others, "FlashAttention", 2022). Numbers are stored as Bf16. Products of 16-bit numbers are summed in float, and
// weights are rounded to Bf16 before they are multiplied. All sums have a fixed order.
//
// The implementation (runtime/backend/cuda/attention.cu) works on tiles of rows and does not use the forms of forms.h.

/// The rows of one kind, such as the queries, for all heads and sequences. The rows of a token's heads are adjacent.
/// Addresses and strides are multiples of 16 bytes.
template <class T>
struct HeadRows {
    T* data = nullptr;         ///< the first row of the first head of the first sequence
    std::int64_t row = 0;      ///< distance between the rows of consecutive tokens, in elements
    std::int64_t sequence = 0; ///< distance between the first rows of consecutive sequences, in elements
};

/// Query q of a sequence attends to the sequence's first seen − rows + q + 1 keys.
struct AttentionSizes {
    int sequences = 1;
    int heads = 1;
    int width = 16;        ///< width of a head; see fusedWidth()
    std::int64_t rows = 0; ///< queries per sequence
    std::int64_t seen = 0; ///< keys and values per sequence; at least `rows`
    float scale = 1.0F;    ///< scale of the scores

    [[nodiscard]] std::int64_t pairs() const { return static_cast<std::int64_t>(sequences) * heads; }
};

/// The supported widths of heads.
constexpr bool fusedWidth(std::int64_t width) {
    return width == 16 || width == 32 || width == 64 || width == 128;
}

struct FusedAttention {
    AttentionSizes sizes;
    HeadRows<const Bf16> queries;
    HeadRows<const Bf16> keys;
    HeadRows<const Bf16> values;
    HeadRows<Bf16> output;
    float* logs = nullptr; ///< logarithm of the sum of each query's unnormalised weights, by sequence, head and query
};

/// The gradients of queries, keys and values. All gradients are overwritten. For keys and
/// values, exactly one of the two storages is set: float if the gradients of several slices are
/// summed.
struct FusedAttentionGradient {
    AttentionSizes sizes;
    HeadRows<const Bf16> queries;
    HeadRows<const Bf16> keys;
    HeadRows<const Bf16> values;
    HeadRows<const Bf16> output;
    HeadRows<const Bf16> output_grad;
    const float* logs = nullptr;
    float* along = nullptr; ///< scratch memory, as large as `logs`
    HeadRows<Bf16> queries_grad;
    HeadRows<Bf16> keys_grad;
    HeadRows<Bf16> values_grad;
    HeadRows<float> keys_sum;
    HeadRows<float> values_sum;
};

} // namespace bubblescope::runtime
