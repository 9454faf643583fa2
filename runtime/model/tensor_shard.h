#pragma once

#include "runtime/model/tensor.h"

namespace bubblescope::runtime {

/// The ranks that share a stage (tensor parallelism), from the view of one of them.
class ShardSums {
public:
    virtual ~ShardSums() = default;

    /// Takes this rank's part, in float, and returns the sum of all ranks' parts in the ranks' order, so that all get
    /// the same bits. The other ranks must sum the same parts in the same order. On the host it waits for them; on a
    /// device it waits until they have queued their parts, not until these are computed.
    [[nodiscard]] virtual Tensor addUp(Tensor part) = 0;
};

/// The part of a stage's matrices that a rank holds, as in Shoeybi et al., "Megatron-LM" (2019): of the matrix of
/// queries, keys and values the columns of the rank's heads, of attention's projection the rows of these heads, of the
/// MLP's first matrix some columns and of its second one the corresponding rows. Normalisations, embeddings, the head,
/// and biases that are added after a sum are whole on every rank.
struct TensorShard {
    int size = 1;              ///< number of ranks that share
    int index = 0;             ///< index of this rank
    ShardSums* sums = nullptr; ///< needed if size is above 1
};

} // namespace bubblescope::runtime
