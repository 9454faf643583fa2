#pragma once

#include "core/bubble/analysis.h"
#include "core/diagnose/anomaly.h"
#include "core/diagnose/stage_times.h"
#include "core/diagnose/step_diagnosis.h"
#include "core/recognise/run.h"

namespace bubblescope {

/// Everything `analyze` says about a run: what the command line prints and the GUI shows.
struct RunReport {
    std::vector<StepAnalysis> steps;
    std::vector<StepDiagnosis> diagnoses; ///< one per step: accounting, critical path, blame
    std::vector<StageTimes> stages;
    std::vector<Anomaly> anomalies;
    std::size_t typical_step =
        0; ///< index into `steps`: the one of median wall time, the first left out where there are others
};

/// `run.steps` must not be empty (loadRun never returns such a run).
[[nodiscard]] RunReport analyzeRun(const Run& run);

/// The same from steps that were analysed already, one per Run::steps in the same order.
[[nodiscard]] RunReport makeReport(const Run& run, std::vector<StepAnalysis> steps);

} // namespace bubblescope
