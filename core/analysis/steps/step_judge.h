#pragma once

#include "core/analysis/report.h"
#include "core/base/job.h"
#include "core/theory/analysis.h"
#include "core/timeline/checks.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

// The steps of a run are judged one by one: what is made of a step for that is dropped again, and what remains of it is
// of a fixed size for each rank.
namespace bubblescope {

/// Neighbouring steps of a run to be judged. Refers to its parts, which must outlive it.
struct StepsToJudge {
    std::span<const StepTimeline> steps;
    std::span<const StepReplays> replays;    ///< one per step; empty where no check took time
    const StepStandards& standards;          ///< of the run
    bool in_full = false;                    ///< of each step everything is kept, not totals alone
    std::optional<std::size_t> typical = {}; ///< this one of the steps is kept in full and diagnosed
};

/// One entry per step in each list.
struct JudgedSteps {
    std::vector<StepAnalysis> analyses;
    std::vector<StepAccounting> accounts;          ///< where each step's time went
    std::optional<StepDiagnosis> typical;          ///< of StepsToJudge::typical
    std::shared_ptr<const ExecutedUnits> only_ran; ///< how the only step ran; null where there are more

    explicit JudgedSteps(std::size_t steps) : analyses(steps), accounts(steps) {}
};

/// Judges the steps of a run, one after another: steps of one order share work. One thread at a time.
class StepJudge {
public:
    /// `schedule` is the run's and must outlive this object.
    explicit StepJudge(const Schedule& schedule) : analyzer_(schedule) {}

    /// As if this step were the latest one judged.
    void startFrom(const StepTimeline& step);
    /// Judges the steps from `begin` to before `end`, and sets their entries in `out`. They must stay where they are
    /// until the next call. False if `control` stops it; null stops nothing.
    [[nodiscard]] bool judge(const StepsToJudge& wanted, std::size_t begin, std::size_t end, JudgedSteps& out,
                             const JobControl* control = nullptr);
    /// How the latest step ran; null before the first.
    [[nodiscard]] const std::shared_ptr<const ExecutedUnits>& ran() const { return ran_; }

private:
    void judgeOne(const StepsToJudge& wanted, std::size_t s, StepDiagnoser& diagnoser, JudgedSteps& out);

    StepAnalyzer analyzer_;
    std::shared_ptr<const ExecutedUnits> ran_;
};

/// Judges all of the steps, on all cores. Linear in ops and transfers. Error: Cancelled.
[[nodiscard]] Result<JudgedSteps> judgeSteps(const Schedule& schedule, const StepsToJudge& wanted,
                                             const JobControl* control);

} // namespace bubblescope
