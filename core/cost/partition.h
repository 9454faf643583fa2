#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <vector>

namespace bubblescope {

/// How many consecutive layers each stage holds, by global stage. Every stage holds at least one.
struct Partition {
    std::vector<int> layers_per_stage;

    /// Layer numbers of each stage, from 0.
    [[nodiscard]] std::vector<std::vector<int>> layers() const;
};

/// Into equal parts; what is left over makes the first stages longer by one layer. `first_less` and
/// `last_less` make room beside the embedding and the output head: the first and the last stage get that
/// many layers fewer than their part, as in torchtitan's options of that name.
[[nodiscard]] Result<Partition> partitionEvenly(int layers, int stages, int first_less = 0, int last_less = 0);

/// As many layers on each rank as the user says (at least v), dealt to the rank's chunks in turn, so that
/// a remainder goes to its first chunks: 5 + 3 layers on p = 2, v = 2 are [0,1,2] [3,4] [5,6] [7] by stage.
[[nodiscard]] Result<Partition> partitionByRank(const std::vector<int>& layers_per_rank, int vpp, Placement placement);

/// Into how many pieces a rank's share of the model is cut: its chunks, of two pipelines those of one.
[[nodiscard]] inline int chunksOfModel(const Schedule& schedule) {
    return schedule.vpp / routes(schedule.placement);
}

/// What ops cost when the same layers on a rank are cut into `now` chunks instead of `before`: all op times scale,
/// transfers do not. Usage error for times per stage, which say nothing of stages cut otherwise.
[[nodiscard]] Result<CostModel> recut(const CostModel& costs, int before, int now);

} // namespace bubblescope
