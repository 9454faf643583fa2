#pragma once

#include "core/analysis/step_diagnosis.h"
#include "core/base/job.h"
#include "core/recognise/run.h"
#include "core/theory/analysis.h"
#include "core/timeline/checks.h"
#include "core/timeline/step_selection.h"

#include <memory>
#include <optional>
#include <vector>

// The steps of a run are judged one by one: what is made of a step for that is dropped again, and what remains of it is
// of a fixed size for each rank.
namespace bubblescope {

/// What is judged, and by what. Refers to its parts, which must outlive it.
struct StepJudgement {
    const Run& run;
    const StepSelection& selection;          ///< of the run's steps
    const StepStandards& standards;          ///< of the run
    const std::vector<StepReplays>& replays; ///< per step; empty where no check took time
    bool in_full = false;                    ///< the analyses of all steps are in full, not of the typical one alone
    const JobControl* control = nullptr;     ///< may stop between steps
};

/// One entry per Run::steps in each list.
struct JudgedSteps {
    std::vector<StepAnalysis> analyses;       ///< totals (StepAnalysis::keepTotals()), of the typical step in full
    std::vector<StepAccounting> accounts;     ///< where each step's time went
    StepDiagnosis typical;                    ///< of the selection's typical step
    std::shared_ptr<const ExecutedUnits> ran; ///< how the only step ran; null where there are more
};

/// Linear in ops and transfers, on all cores. Error: Cancelled.
[[nodiscard]] Result<JudgedSteps> judgeSteps(const StepJudgement& judgement);

} // namespace bubblescope
