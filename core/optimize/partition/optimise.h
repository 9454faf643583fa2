#pragma once

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/cost/partition.h"
#include "core/optimize/partition/layer_times.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// A split and the length of its step.
struct RatedPartition {
    std::string name; ///< display name of the rule that produced the split
    Partition partition;
    TimeNs step{0};
    bool fits = true; ///< true if the split fits into the memory of each rank
};

struct PartitionOptions {
    TimeNs comm{0};                              ///< one-way latency of a transfer between ranks
    std::optional<std::int64_t> memory_per_rank; ///< memory limit for the sum over a rank's layers
    std::int64_t effort = 500'000'000;           ///< limits the number of search steps, not the time, so that results
                                                 ///< are deterministic; the default takes a few seconds
    std::vector<RatedPartition> rules;           ///< additional splits to compare with; only name and partition are set
};

struct OptimalPartition {
    RatedPartition best;
    TimeNs lower_bound{0};             ///< lower bound on the step time of any split
    std::vector<RatedPartition> rules; ///< results of simple rules; the first is the even split
    std::int64_t simulations = 0;

    [[nodiscard]] bool proven() const { return best.step == lower_bound; }
};

/// Splits consecutive layers into the schedule's stages, with at least one layer per stage, so that the step is
/// shortest. The result is never worse than any listed rule. For every split, ops run in the order of the schedule.
///
/// Branch and bound: layers are assigned stage by stage, and the bounds of path_bounds.h prune splits that cannot lead
/// to a shorter step. The remaining splits are simulated (transfers cost their latency, an overlapped pair the sum of
/// its halves). The longest path of each simulation becomes another bound. If the search exceeds `effort`, returns the
/// best split so far and the lower bound reached.
///
/// Errors: Usage if there are fewer layers than stages or far more than any model has, if the schedule runs two
/// pipelines in opposite directions (their stages do not form one chain of layers), or if no split is found that fits
/// into the memory.
[[nodiscard]] Result<OptimalPartition> optimisePartition(const Schedule& schedule, const std::vector<Layer>& layers,
                                                         const PartitionOptions& options = {});

} // namespace bubblescope
