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

/// The values to search for each property of a layout. If a list is empty, the property is not restricted.
struct Space {
    std::vector<int> tp;
    std::vector<int> cp;
    std::vector<int> pp;
    std::vector<int> ep;
    std::vector<int> vpp;
    std::vector<int> microbatch;
    std::vector<std::string> schedules;
    std::vector<TransformerShape::Recompute> recompute; ///< None, Selective or Full; if empty, tries None and Full
    std::vector<Zero> zero;
    std::size_t plans = 10; ///< number of best plans to return
    bool prune = true;      ///< if false, every layout is evaluated; used in tests
};

/// Schedules that are searched by default.
[[nodiscard]] const std::vector<std::string>& defaultSchedules();

struct SearchResult {
    /// Plans that fit, shortest step first; only the best plan per combination of tp, cp, pp, ep and schedule.
    std::vector<Plan> plans;
    std::size_t considered = 0;           ///< number of layouts in the space
    std::size_t judged = 0;               ///< number of layouts whose order was generated to determine time and memory
    std::size_t too_large = 0;            ///< number of layouts that do not fit, according to the bound or the order
    std::size_t ruled_out = 0;            ///< number of layouts with a lower bound above the step time of the last plan
    std::optional<TimeNs> ruled_out_from; ///< the smallest of these lower bounds
    TimeNs bound{0};                      ///< lower bound on the step time of all layouts, even those that do not fit
    std::int64_t least_memory = 0;        ///< lower bound on the smallest layout's memory, if nothing fits
};

/// Lists all layouts of a space for which tp divides the heads and fits within a host, pp, vpp and the split divide the
/// layers, ep divides the experts and the ranks of a stage, and micro-batches divide the batch. Layers are split
/// evenly, or so that the stage with the head has as much work as the other stages. Deterministic. Errors: Usage if
/// there are none.
[[nodiscard]] Result<std::vector<Layout>> layouts(const Judge& judge, const Space& space);

/// Finds the best layouts of the space. Layouts are evaluated in the order of their lower bounds until no other layout
/// can be among the best. Errors: Usage if no layout fits; Cancelled.
[[nodiscard]] Result<SearchResult> search(const Judge& judge, const Space& space, const JobControl& control);

} // namespace bubblescope::plan
