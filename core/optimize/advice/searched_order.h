#pragma once

#include "core/analysis/whatif/reschedule.h"
#include "core/base/job.h"
#include "core/optimize/advice/advise.h"

#include <vector>

namespace bubblescope {

/// An order outside of all families for a run, with its split of the layers.
struct SearchedChange {
    PipelineChange change;
    Searched known;
};

/// The order found for the present split with the run's mean times. If the layers are known and another split makes the
/// step shorter, also the order and split found by searching both in turn. No rank holds more activations than in
/// `order`. `time` applies to each search, which has at most two rounds. Empty if the run's order cannot be searched:
/// two pipelines in opposite directions, pairs of ops, or too many ops. Errors: Cancelled.
[[nodiscard]] Result<std::vector<SearchedChange>> searchOrdersAndSplits(const MeanPipeline& pipeline,
                                                                        const Schedule& order, const ModelCut& cut,
                                                                        TimeNs time, const JobControl& control);

} // namespace bubblescope
