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
    std::string name; ///< of the rule that made it, for people
    Partition partition;
    TimeNs step{0};
    bool fits = true; ///< into the memory of each rank
};

struct PartitionOptions {
    TimeNs comm{0};                              ///< one-way latency of a transfer between ranks
    std::optional<std::int64_t> memory_per_rank; ///< limit for the layers of a rank together
    std::int64_t effort = 500'000'000;           ///< steps of the search, some seconds; deterministic
    std::vector<RatedPartition> rules;           ///< more splits to compare with, name and partition given
};

struct OptimalPartition {
    RatedPartition best;
    TimeNs lower_bound{0};             ///< no split has a shorter step
    std::vector<RatedPartition> rules; ///< the results of the plain rules, the even split first
    std::int64_t simulations = 0;

    [[nodiscard]] bool proven() const { return best.step == lower_bound; }
};

/// The split of consecutive layers into the schedule's stages, each of at least one layer, with the shortest step.
/// Never worse than any listed rule. The order of ops is the schedule's for every split.
///
/// Branch and bound: layers are assigned stage after stage; the bounds of path_bounds.h prune what cannot lead to a
/// shorter step; the rest is simulated (transfers cost their latency, an overlapped pair the sum of its halves), and
/// its longest path becomes another bound. If that takes more than `effort`, the best split so far is returned with the
/// lower bound reached.
///
/// Errors: Usage when there are fewer layers than stages or far more than models have, when the schedule runs two
/// pipelines side by side (their stages are not one chain of layers), or when no split is found that fits into the
/// memory.
[[nodiscard]] Result<OptimalPartition> optimisePartition(const Schedule& schedule, const std::vector<Layer>& layers,
                                                         const PartitionOptions& options = {});

} // namespace bubblescope
