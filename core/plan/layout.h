#pragma once

#include "core/cost/memory_estimate.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bubblescope::plan {

/// Model states that the data-parallel ranks shard instead of replicating them.
enum class Zero : std::uint8_t {
    None = 0,
    Optimizer = 1, ///< as with Megatron's distributed optimizer
    Gradients = 2, ///< reduced after every micro-batch, as with Megatron's FSDP
    Weights = 3,   ///< gathered for every forward and backward
};

/// Distribution of a model over a cluster, and the order in which its pipeline runs. tp is the innermost dimension of
/// rank numbers, followed by cp, dp and pp, as in Megatron-core and torchtitan: tensor-parallel ranks are adjacent.
/// Ranks that share the experts are also adjacent, regardless of other dimensions; no expert is split between ranks.
struct Layout {
    int tp = 1;
    int cp = 1; ///< number of ranks that share each sequence and exchange keys and values around a ring
    int dp = 1;
    int ep = 1; ///< number of ranks that share the experts, out of the tp · cp · dp ranks of a stage
    int pp = 1;
    int vpp = 1;
    int microbatch = 1; ///< sequences
    int microbatches = 1;
    std::string schedule = "1f1b"; ///< a family of scheduleFamilies() in its default flavor, or travelling.h
    std::vector<int> layers_per_stage;
    TransformerShape::Recompute recompute = TransformerShape::Recompute::None;
    Zero zero = Zero::Optimizer;

    [[nodiscard]] int devices() const { return stageRanks() * pp; }
    /// Number of ranks per pipeline stage.
    [[nodiscard]] int stageRanks() const { return tp * cp * dp; }
    /// Number of ranks that hold the same non-expert weights.
    [[nodiscard]] int sharers() const { return cp * dp; }
    /// Number of ranks that hold the same experts.
    [[nodiscard]] int expertSharers() const { return stageRanks() / ep; }
    [[nodiscard]] int stages() const { return pp * vpp; }
    friend bool operator==(const Layout&, const Layout&) = default;
};

} // namespace bubblescope::plan
