#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/plan/judge.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::plan {

/// What may be chosen. An empty list leaves a choice open.
struct Space {
    std::vector<int> tp;
    std::vector<int> cp;
    std::vector<int> pp;
    std::vector<int> vpp;
    std::vector<int> microbatch;
    std::vector<std::string> schedules;
    std::vector<TransformerShape::Recompute> recompute; ///< None, Full
    std::vector<Zero> zero;
    std::size_t plans = 10; ///< how many of the best to return
    bool prune = true;      ///< false judges everything: for tests
};

/// The schedules that are tried unless others are asked for.
[[nodiscard]] const std::vector<std::string>& defaultSchedules();

struct SearchResult {
    /// That fit, the shortest step first; of those with one tp, cp, pp and schedule the best alone.
    std::vector<Plan> plans;
    std::size_t considered = 0;           ///< layouts of the space
    std::size_t judged = 0;               ///< with their order: time and memory
    std::size_t too_large = 0;            ///< do not fit, by the bound or by their order
    std::size_t ruled_out = 0;            ///< by their lower bound: slower than the last of `plans`
    std::optional<TimeNs> ruled_out_from; ///< the least of those bounds
    TimeNs bound{0};                      ///< no layout of the space has a shorter step, whether it fits or not
    std::int64_t least_memory = 0;        ///< where nothing fits: what the smallest layout needs at least
};

/// All layouts of a space in which tp divides the heads and does not leave the host, pp, vpp and the split divide the
/// layers, and micro-batches divide the batch. Layers are split evenly, or such that the stage with the head has as
/// much work as the others. Deterministic. Errors: Usage, when there is none.
[[nodiscard]] Result<std::vector<Layout>> layouts(const Judge& judge, const Space& space);

/// The best layouts of the space: judged in the order of their lower bounds until no other can be among them.
/// Errors: Usage, when nothing fits; Cancelled.
[[nodiscard]] Result<SearchResult> search(const Judge& judge, const Space& space, const JobControl& control);

} // namespace bubblescope::plan
