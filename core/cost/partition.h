#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// Kinds of layers; the embedding and the loss count as separate layers.
enum class LayerKind : std::uint8_t {
    Embedding,
    Transformer,
    MultiToken, ///< multi-token prediction, which follows the transformer's layers
    Loss,       ///< the output head and the loss
};

/// Number of consecutive layers per global stage. Every stage has at least one layer; only Megatron-core's layouts
/// (core/frameworks/layer_layout.h) may have empty stages.
struct Partition {
    std::vector<int> layers_per_stage;

    /// Indices of the layers on each stage, counted from 0.
    [[nodiscard]] std::vector<std::vector<int>> layers() const;
};

/// Splits layers evenly; if there is a remainder, the first stages get one more. `first_less` and `last_less` make room
/// for the embedding and the output head: the first and the last stage get that many fewer layers, as with torchtitan's
/// options of the same names. Errors: Usage.
[[nodiscard]] Result<Partition> partitionEvenly(int layers, int stages, int first_less = 0, int last_less = 0);

/// Assigns the given number of layers (at least v) to each rank and divides them among the rank's chunks; if there is a
/// remainder, the first chunks get one more. For example, 5 + 3 layers on p = 2, v = 2 result in the stages [0,1,2]
/// [3,4] [5,6] [7]. Errors: Usage.
[[nodiscard]] Result<Partition> partitionByRank(const std::vector<int>& layers_per_rank, int vpp, Placement placement);

/// Number of chunks in a rank's part of the model. If two pipelines share the ranks, only one pipeline's chunks are
/// counted.
[[nodiscard]] inline int chunksOfModel(const Schedule& schedule) {
    return schedule.vpp / routes(schedule.placement);
}

/// Adapts costs per rank (one stage per rank, containing the rank's entire part of the model) to an order that may
/// split these parts into chunks: each op gets its chunk's share. Errors: Usage unless there are as many stages as
/// ranks.
[[nodiscard]] Result<CostModel> shareOfRanks(const CostModel& costs, const Schedule& order);

/// Costs after the layers of each rank are split into `now` chunks instead of `before`: op times are scaled, transfers
/// are unchanged. Errors: Usage if times are given per stage, because the stages change.
[[nodiscard]] Result<CostModel> recut(const CostModel& costs, int before, int now);

} // namespace bubblescope
