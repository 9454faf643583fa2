#pragma once

#include "core/analysis/whatif/scenario.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/plan/search.h"

#include <cstddef>
#include <string>
#include <vector>

namespace bubblescope::plan {

/// A recorded run's pipeline, planned otherwise.
struct CalibratedPlan {
    PipelineChange change;
    std::vector<std::string> texts; ///< the change in the syntax of parseScenario(), for `whatif`
    Prediction prediction;          ///< that of predict() for this change
    double bubble_rate = 0;         ///< idle over the pipeline's time, as predicted
};

struct CalibratedResult {
    std::vector<CalibratedPlan> plans; ///< the shortest step first
    std::size_t judged = 0;            ///< simulated on the run's mean times
};

/// The best schedules, chunks, micro-batches and splits of the layers for a run's ranks, from its measured times: a
/// stage takes the time of its layers, half a micro-batch half its time. Every choice is simulated on the mean times
/// with the mean time between ops; the best are predicted as `whatif` does, so both give the same step. Unknown layers
/// are equal parts of the stages. Errors: Usage, when nothing of the space can be run; those of predict(); Cancelled.
[[nodiscard]] Result<CalibratedResult> searchCalibrated(const RunModel& run, const Schedule& order, const ModelCut& cut,
                                                        const Space& space, const JobControl& control);

} // namespace bubblescope::plan
