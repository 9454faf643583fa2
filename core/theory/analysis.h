#pragma once

#include "core/base/result.h"
#include "core/graph/consolidate.h"
#include "core/theory/closed_form.h"
#include "core/timeline/bubbles.h"
#include "core/timeline/check_log.h"

#include <optional>
#include <vector>

namespace bubblescope {

/// One rank's step: how its time was spent, compared with what the closed form allows.
struct RankAccount {
    Rank rank;
    TimeNs busy{0};
    TimeNs bubble{0}; ///< wall − busy, within the pipeline window
    TimeNs replay{0}; ///< of the bubble, in which checks ran (see countReplays()); the rest is idle
    std::optional<TimeNs> expected_bubble; ///< closed form's total; none where no form applies
    PerPosition<TimeNs> executed{};        ///< bubble per position as it ran
    PerPosition<TimeNs> observed{};        ///< bubble per position after consolidation, comparable with `expected`
    PerPosition<TimeNs> expected{};        ///< closed form per position; 0 where none
};

/// A step compared with theory. Shared by the command line and the GUI.
struct StepAnalysis {
    int index = 0;
    int replica = 0;                ///< as in StepTimeline
    bool order_of_previous = false; ///< the step ran the same ops in the same order as the one that the StepAnalyzer
                                    ///< analysed before it
    TimeNs wall{0};
    BubbleRates rates;              ///< as executed
    OpTimes typical;                ///< median time per op kind, what the closed form was fed with
    std::optional<ClosedForm> form; ///< exact; none where the schedule has none
    std::optional<TimeNs> at_least; ///< without an exact form, a lower bound on the wall time at these op times
    std::string form_note;          ///< why there is no exact form; empty otherwise
    std::vector<RankAccount> ranks;
    std::vector<std::vector<Bubble>> bubbles; ///< as executed, per rank

    /// False where theory gives totals only: `expected` is then meaningless.
    [[nodiscard]] bool positionsKnown() const { return form && form->positionsKnown(); }
};

/// Sets RankAccount::replay: how much of each rank's bubbles checks filled. `replays` are those of the step, or none.
void countReplays(StepAnalysis& analysis, const StepReplays& replays);

/// `schedule` is the recognised one (its name selects the closed form).
[[nodiscard]] StepAnalysis analyzeStep(const StepTimeline& step, const Schedule& schedule);

/// The same for the steps of a run, one after another. Work that depends on the order alone is done once for as long
/// as the steps have the same order. Not thread-safe.
class StepAnalyzer {
public:
    /// `schedule` must outlive this.
    explicit StepAnalyzer(const Schedule& schedule) : schedule_(schedule) {}
    [[nodiscard]] StepAnalysis analyze(const StepTimeline& step);

private:
    const Schedule& schedule_;
    std::optional<Consolidation> consolidation_; ///< of the latest step
};

} // namespace bubblescope
