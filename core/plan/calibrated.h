#pragma once

#include "core/analysis/whatif/scenario.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/plan/search.h"

#include <cstddef>
#include <string>
#include <vector>

namespace bubblescope::plan {

/// A change to the pipeline of a recorded run, with its predicted effect.
struct CalibratedPlan {
    PipelineChange change;
    std::vector<std::string> texts; ///< the change as arguments for `whatif`, in the syntax of parseScenario()
    Prediction prediction;          ///< the result of predict() for this change
    double bubble_rate = 0;         ///< predicted idle fraction of the pipeline's time
};

struct CalibratedResult {
    std::vector<CalibratedPlan> plans; ///< shortest step first
    std::size_t judged = 0;            ///< number of configurations that were simulated with the run's mean times
};

/// Finds the best schedules, numbers of chunks and micro-batches, and layer splits for a run's ranks, based on its
/// measured times: the time of a stage is the sum of its layers' times, and half a micro-batch takes half the time.
/// Every configuration is simulated with the mean op times and the mean time between ops. The best ones are then
/// predicted as in `whatif`, so that both report the same step time. If the layers are unknown, each stage is divided
/// into equal parts. Errors: Usage if no configuration can run; those of predict(); Cancelled.
[[nodiscard]] Result<CalibratedResult> searchCalibrated(const RunModel& run, const Schedule& order, const ModelCut& cut,
                                                        const Space& space, const JobControl& control);

} // namespace bubblescope::plan
