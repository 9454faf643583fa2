#pragma once

#include "runtime/model/tensor.h"

namespace bubblescope::runtime {

/// The ranks that share a stage (tensor parallelism), as one of them sees them.
class ShardSums {
public:
    virtual ~ShardSums() = default;

    /// Takes the rank's part, in float, and returns the sum of all ranks' parts, added up in the ranks' order, so that
    /// all end with the same bits. The others must add up the same parts in the same order. On the host it waits for
    /// them; on a device it waits until they have queued theirs, not until they are computed.
    [[nodiscard]] virtual Tensor addUp(Tensor part) = 0;
};

/// Which share of a stage's matrices a rank holds, in the manner of Shoeybi et al., "Megatron-LM" (2019): of the matrix
/// that makes queries, keys and values the columns of its heads, of attention's projection their rows, of the MLP's
/// first matrix some columns and of its second the rows to match. Normalisations, embeddings, the head and what is
/// added behind a sum are whole on every rank.
struct TensorShard {
    int size = 1;              ///< ranks that share
    int index = 0;             ///< this one
    ShardSums* sums = nullptr; ///< needed where size is above 1
};

} // namespace bubblescope::runtime
