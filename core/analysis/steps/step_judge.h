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

// Analyses the steps of a run one by one. Intermediate data is freed after each step, and the results have a fixed size
// per rank.
namespace bubblescope {

/// Consecutive steps of a run to be analysed. Stores references to objects that must outlive it.
struct StepsToJudge {
    std::span<const StepTimeline> steps;
    std::span<const StepReplays> replays;    ///< re-executed work per step; empty if checks took no time
    const StepStandards& standards;          ///< standards of the run
    bool in_full = false;                    ///< true to keep all data of each step, not only totals
    std::optional<std::size_t> typical = {}; ///< index of a step to keep in full and to diagnose
};

/// Results with one entry per step in each list.
struct JudgedSteps {
    std::vector<StepAnalysis> analyses;
    std::vector<StepAccounting> accounts;          ///< accounting per step
    std::optional<StepDiagnosis> typical;          ///< for StepsToJudge::typical
    std::shared_ptr<const ExecutedUnits> only_ran; ///< the units of the only step; null if there are several

    explicit JudgedSteps(std::size_t steps) : analyses(steps), accounts(steps) {}
};

/// Analyses the steps of a run one after another. Steps with the same order share work. Not thread-safe.
class StepJudge {
public:
    /// `schedule` must be the run's schedule and outlive this object.
    explicit StepJudge(const Schedule& schedule) : analyzer_(schedule) {}

    /// Continues as if this step were the most recently analysed one.
    void startFrom(const StepTimeline& step);
    /// Analyses the steps [begin, end) and sets their entries in `out`. Steps must stay at the same address until the
    /// next call. `control` may be null. Returns false if a stop was requested.
    [[nodiscard]] bool judge(const StepsToJudge& wanted, std::size_t begin, std::size_t end, JudgedSteps& out,
                             const JobControl* control = nullptr);
    /// The units of the latest step; null before the first.
    [[nodiscard]] const std::shared_ptr<const ExecutedUnits>& ran() const { return ran_; }

private:
    void judgeOne(const StepsToJudge& wanted, std::size_t s, StepDiagnoser& diagnoser, JudgedSteps& out);

    StepAnalyzer analyzer_;
    std::shared_ptr<const ExecutedUnits> ran_;
};

/// Analyses all steps on all cores. Linear in ops and transfers. Error: Cancelled.
[[nodiscard]] Result<JudgedSteps> judgeSteps(const Schedule& schedule, const StepsToJudge& wanted,
                                             const JobControl* control);

} // namespace bubblescope
