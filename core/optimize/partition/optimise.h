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
    std::string name; ///< name of the rule that produced it, for display
    Partition partition;
    TimeNs step{0};
    bool fits = true; ///< true if it fits into the memory of each rank
};

struct PartitionOptions {
    TimeNs comm{0};                              ///< one-way latency of a transfer between ranks
    std::optional<std::int64_t> memory_per_rank; ///< limit for all layers of a rank together
    std::int64_t effort = 500'000'000;           ///< limit on the steps of the search, not on time, so that results are
                                                 ///< deterministic; the default takes a few seconds
    std::vector<RatedPartition> rules;           ///< additional splits to compare with; only name and partition are set
};

struct OptimalPartition {
    RatedPartition best;
    TimeNs lower_bound{0};             ///< no split has a shorter step
    std::vector<RatedPartition> rules; ///< the results of the plain rules, the even split first
    std::int64_t simulations = 0;

    [[nodiscard]] bool proven() const { return best.step == lower_bound; }
};

/// Splits consecutive layers into the schedule's stages, each with at least one layer, to get the shortest step. Never
/// worse than any listed rule. The order of ops is the schedule's for every split.
///
/// Branch and bound: layers are assigned stage by stage, and the bounds of path_bounds.h prune what cannot lead to a
/// shorter step. The rest is simulated (transfers cost their latency, an overlapped pair the sum of its halves); its
/// longest path becomes another bound. If that takes more than `effort`, returns the best split so far, with the lower
/// bound reached.
///
/// Errors: Usage if there are fewer layers than stages or far more than models have, if the schedule runs two pipelines
/// in opposite directions (their stages are not one chain of layers), or if no split is found that fits into the
/// memory.
[[nodiscard]] Result<OptimalPartition> optimisePartition(const Schedule& schedule, const std::vector<Layer>& layers,
                                                         const PartitionOptions& options = {});

} // namespace bubblescope
