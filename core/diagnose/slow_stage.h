#pragma once

#include "core/diagnose/anomaly.h"
#include "core/diagnose/stage_times.h"

namespace bubblescope {

/// Thresholds of findSlowStages.
struct SlowStageLimits {
    double ratio = 1.5;         ///< a stage's work per micro-batch over the median stage's
    double deviations = 6;      ///< and its distance from it in median absolute deviations
    double serious_share = 0.1; ///< serious when the rank's excess reaches this share of the step
};

/// Stages whose ops take far longer than those of the median stage, as a badly cut model or a sick device
/// makes them. Needs at least three stages to tell who is the odd one. `wall` is a typical step's.
[[nodiscard]] std::vector<Anomaly> findSlowStages(const std::vector<StageTimes>& stages, int microbatches, TimeNs wall,
                                                  const SlowStageLimits& limits = {});

} // namespace bubblescope
