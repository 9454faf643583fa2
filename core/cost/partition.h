#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// The kinds of layers; embedding and loss count as layers of their own.
enum class LayerKind : std::uint8_t {
    Embedding,
    Transformer,
    MultiToken, ///< multi-token prediction, after the transformer's layers
    Loss,       ///< the output head and the loss
};

/// The number of consecutive layers on each stage, by global stage. Every stage has at least one; only Megatron-core's
/// layouts (core/frameworks/layer_layout.h) may have empty stages.
struct Partition {
    std::vector<int> layers_per_stage;

    /// Layer numbers of each stage, from 0.
    [[nodiscard]] std::vector<std::vector<int>> layers() const;
};

/// Splits layers evenly; the first stages get one more if there is a remainder. `first_less` and `last_less` make room
/// for the embedding and the output head: the first and the last stage get that many layers fewer, like torchtitan's
/// options of the same names. Errors: Usage.
[[nodiscard]] Result<Partition> partitionEvenly(int layers, int stages, int first_less = 0, int last_less = 0);

/// Puts the given number of layers on each rank (at least v) and divides them among the rank's chunks; the first chunks
/// get one more if there is a remainder. For example, 5 + 3 layers on p = 2, v = 2 give the stages [0,1,2] [3,4] [5,6]
/// [7]. Errors: Usage.
[[nodiscard]] Result<Partition> partitionByRank(const std::vector<int>& layers_per_rank, int vpp, Placement placement);

/// The number of chunks in a rank's part of the model. If two pipelines share the ranks, counts one pipeline's chunks
/// only.
[[nodiscard]] inline int chunksOfModel(const Schedule& schedule) {
    return schedule.vpp / routes(schedule.placement);
}

/// Adapts costs given per rank (one stage per rank, with all of its part of the model) to an order that may split these
/// parts into chunks: each of a rank's ops takes its chunk's share. Errors: Usage unless there are as many stages as
/// ranks.
[[nodiscard]] Result<CostModel> shareOfRanks(const CostModel& costs, const Schedule& order);

/// The costs if the same layers on a rank are split into `now` chunks instead of `before`: op times scale, transfers do
/// not. Errors: Usage for times per stage, which cannot be applied to different stages.
[[nodiscard]] Result<CostModel> recut(const CostModel& costs, int before, int now);

} // namespace bubblescope
