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

/// The choices to search. An empty list leaves the choice open.
struct Space {
    std::vector<int> tp;
    std::vector<int> cp;
    std::vector<int> pp;
    std::vector<int> ep;
    std::vector<int> vpp;
    std::vector<int> microbatch;
    std::vector<std::string> schedules;
    std::vector<TransformerShape::Recompute> recompute; ///< None, Selective, Full; if empty, None and Full
    std::vector<Zero> zero;
    std::size_t plans = 10; ///< number of best plans to return
    bool prune = true;      ///< false judges every layout (for tests)
};

/// The schedules that are tried by default.
[[nodiscard]] const std::vector<std::string>& defaultSchedules();

struct SearchResult {
    /// Plans that fit, shortest step first; only the best for each combination of tp, cp, pp, ep and schedule.
    std::vector<Plan> plans;
    std::size_t considered = 0;           ///< number of layouts in the space
    std::size_t judged = 0;               ///< layouts whose order was generated to determine time and memory
    std::size_t too_large = 0;            ///< layouts that do not fit, either by the bound or with their order
    std::size_t ruled_out = 0;            ///< layouts whose lower bound exceeds the step time of the last of `plans`
    std::optional<TimeNs> ruled_out_from; ///< the lowest of those bounds
    TimeNs bound{0};                      ///< no layout in the space has a shorter step, whether it fits or not
    std::int64_t least_memory = 0;        ///< if nothing fits: lower bound of the smallest layout's memory
};

/// All layouts of a space in which tp divides the heads and does not leave the host, pp, vpp and the split divide the
/// layers, ep divides the experts and the ranks of a stage, and micro-batches divide the batch. Layers are split
/// evenly, or so that the stage with the head has as much work as the others. Deterministic. Errors: Usage if there are
/// none.
[[nodiscard]] Result<std::vector<Layout>> layouts(const Judge& judge, const Space& space);

/// The best layouts of the space. Judges layouts in the order of their lower bounds until no other can be among the
/// best. Errors: Usage if nothing fits; Cancelled.
[[nodiscard]] Result<SearchResult> search(const Judge& judge, const Space& space, const JobControl& control);

} // namespace bubblescope::plan
