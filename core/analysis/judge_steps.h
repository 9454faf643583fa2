#pragma once

#include "core/analysis/step_diagnosis.h"
#include "core/base/job.h"
#include "core/recognise/partitioned_trace.h"
#include "core/recognise/run.h"
#include "core/theory/analysis.h"
#include "core/timeline/checks.h"
#include "core/timeline/step_selection.h"

#include <memory>
#include <optional>
#include <span>
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

/// Linear in ops and transfers, on all cores. Where several processes hold the run's trace and there are enough steps,
/// each judges some of them, with the same result. Errors: Cancelled, and Run if a process fails.
[[nodiscard]] Result<JudgedSteps> judgeSteps(const StepJudgement& judgement);

/// Neighbouring steps of a run that one process judges. The sender's refer to the run, the receiver's to `received`.
struct StepsToJudge {
    const Schedule* schedule = nullptr; ///< of the run
    const StepStandards* standards = nullptr;
    const StepTimeline* before = nullptr; ///< the step before the first; null if there is none
    std::span<const StepTimeline> steps;
    std::span<const StepReplays> replays; ///< as `steps`, or empty

    struct Received {
        Schedule schedule;
        StepStandards standards;
        std::vector<StepTimeline> before;
        std::vector<StepTimeline> steps;
        std::vector<StepReplays> replays;
    };
    std::shared_ptr<const Received> received; ///< null on the sender
};

/// One entry per step that was to be judged; the analyses are totals.
struct JudgedPart {
    std::vector<StepAnalysis> analyses;
    std::vector<StepAccounting> accounts;
};
[[nodiscard]] Result<JudgedPart> judgePart(TracePartition& partition, const StepsToJudge& query);
void fields(WireWriter& wire, const StepsToJudge& value);
void fields(WireReader& wire, StepsToJudge& value);
void fields(WireWriter& wire, const JudgedPart& value);
void fields(WireReader& wire, JudgedPart& value);
inline constexpr PartitionTask<JudgedPart, StepsToJudge> kJudgeSteps{"judge steps", judgePart};

} // namespace bubblescope
