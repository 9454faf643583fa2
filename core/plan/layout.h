#pragma once

#include "core/cost/memory_estimate.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bubblescope::plan {

/// The model states that the data-parallel ranks shard instead of each keeping a copy.
enum class Zero : std::uint8_t {
    None = 0,
    Optimizer = 1, ///< Megatron's distributed optimizer
    Gradients = 2, ///< reduced after every micro-batch, as Megatron's FSDP does
    Weights = 3,   ///< gathered for every forward and backward
};

/// The distribution of a model over a cluster, and the order in which its pipeline runs. Ranks are numbered with tp
/// innermost, then cp, dp and pp, as Megatron-core and torchtitan do: the tensor-parallel ranks are neighbours. Ranks
/// that divide the experts are neighbours too, whatever else they share; each expert is whole on its rank.
struct Layout {
    int tp = 1;
    int cp = 1; ///< ranks that share each sequence; attention passes keys and values around them
    int dp = 1;
    int ep = 1; ///< ranks that divide the experts, out of the tp · cp · dp ranks of a stage
    int pp = 1;
    int vpp = 1;
    int microbatch = 1; ///< sequences
    int microbatches = 1;
    std::string schedule = "1f1b"; ///< a family of scheduleFamilies(), in its default flavor
    std::vector<int> layers_per_stage;
    TransformerShape::Recompute recompute = TransformerShape::Recompute::None;
    Zero zero = Zero::Optimizer;

    [[nodiscard]] int devices() const { return stageRanks() * pp; }
    /// Ranks of a pipeline stage.
    [[nodiscard]] int stageRanks() const { return tp * cp * dp; }
    /// Ranks that hold the same weights, apart from experts.
    [[nodiscard]] int sharers() const { return cp * dp; }
    /// Ranks that hold the same experts.
    [[nodiscard]] int expertSharers() const { return stageRanks() / ep; }
    [[nodiscard]] int stages() const { return pp * vpp; }
    friend bool operator==(const Layout&, const Layout&) = default;
};

} // namespace bubblescope::plan
