#pragma once

#include "core/analysis/whatif/reschedule.h"
#include "core/base/job.h"
#include "core/optimize/advice/advise.h"
#include "core/optimize/search/order_problem.h"

#include <optional>
#include <vector>

namespace bubblescope {

/// An order for a run, outside all families, with a split of the layers.
struct SearchedChange {
    PipelineChange change;
    Searched known;
};

/// The order found for the current split with the run's mean times. If the layers are known and another split makes the
/// step shorter, also the order and split found by alternating searches. No rank stores more activations than in
/// `order`. `time` limits each search; there are at most two rounds. Empty if no order can be searched for the run: two
/// pipelines in opposite directions, pairs of ops, or too many ops. Errors: Cancelled.
[[nodiscard]] Result<std::vector<SearchedChange>> searchOrdersAndSplits(const MeanPipeline& pipeline,
                                                                        const Schedule& order, const ModelCut& cut,
                                                                        TimeNs time, const JobControl& control);

/// The order found for the current split within `limits`. Empty as above, and if the limits are too low. Errors:
/// Cancelled.
[[nodiscard]] Result<std::optional<SearchedChange>> searchOrderWithin(const MeanPipeline& pipeline,
                                                                      const Schedule& order, MemoryLimits limits,
                                                                      TimeNs time, const JobControl& control);

} // namespace bubblescope
