#pragma once

#include "core/base/packed_list.h"
#include "core/base/result.h"
#include "core/graph/consolidate.h"
#include "core/graph/step_units.h"
#include "core/theory/closed_form.h"
#include "core/timeline/bubbles.h"
#include "core/timeline/checks.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope {

/// How a rank used the time of a step, compared with the closed form.
struct RankAccount {
    Rank rank;
    TimeNs busy{0};
    TimeNs bubble{0}; ///< wall − busy, inside the pipeline window
    TimeNs replay{0}; ///< the part of the bubble in which checks ran (see countReplays()); the rest is idle
    std::optional<TimeNs> expected_bubble; ///< total of the closed form; none if no form applies
    PerPosition<TimeNs> executed{};        ///< bubble per position as executed
    PerPosition<TimeNs> observed{};        ///< bubble per position after consolidation, comparable with `expected`
    PerPosition<TimeNs> expected{};        ///< closed form per position; 0 if there is none
};
template <class Numbers>
constexpr void fields(Numbers& numbers, RankAccount& value) { // see PackedList
    auto& [rank, busy, bubble, replay, expected_bubble, executed, observed, expected] = value;
    numbers(rank, busy, bubble, replay, expected_bubble, executed, observed, expected);
}

/// Comparison of a step with theory. Used by both the command line and the GUI.
struct StepAnalysis {
    int index = 0;
    int replica = 0; ///< index as in StepTimeline
    bool order_of_previous =
        false; ///< true if the step has the same ops in the same order as the previous step of the StepAnalyzer
    TimeNs wall{0};
    BubbleRates rates; ///< as executed
    /// Typical time per kind of op, from which the closed form is computed. If the form's makespan would exceed the
    /// step's duration, the times are scaled down to match.
    OpTimes typical;
    std::optional<ClosedForm> form; ///< exact form, at most as long as the step; none if the schedule has none
    std::optional<TimeNs> at_least; ///< lower bound on the wall time at these op times, if there is no exact form
    std::string form_note;          ///< reason why there is no exact form; empty if there is one
    bool positions_known = false;   ///< false if theory only provides totals; RankAccount::expected is then meaningless
    PackedList<RankAccount> ranks;
    std::vector<std::vector<Bubble>> bubbles; ///< as executed, per rank

    [[nodiscard]] bool positionsKnown() const { return positions_known; }
    /// Discards data needed only for a single step, and data whose size grows with the number of ops: the bubbles, and
    /// everything in the form except its totals. analyzeStep() can recompute both. Packs the ranks' accounts.
    void keepTotals();
};

/// The closed form for a rank's bubbles at a position; null if the step's form contains none.
[[nodiscard]] const PositionForm* findForm(const StepAnalysis& analysis, Rank rank, Position position);

/// Comparison of an executed bubble with the closed form at its position. The form contains all of a rank's idle time
/// at the position after consolidation. Therefore, a bubble is comparable only if it is the only bubble at its position
/// and consolidation does not change that position.
struct FormComparison {
    enum class Kind : std::uint8_t {
        NoForm,     ///< the schedule has no closed form per position
        NotInForm,  ///< the form has no bubble at this position
        Several,    ///< several executed bubbles share the position
        Moved,      ///< consolidation moves some of the idle time at this position elsewhere
        Comparable, ///< the bubble corresponds to the idle time in the form
    };
    Kind kind = Kind::NoForm;
    TimeNs expected{0};
    const PositionForm* form = nullptr; ///< points into the analysis; null for NoForm, and if the form contains none
};

/// `bubble` must be an element of StepAnalysis::bubbles.
[[nodiscard]] FormComparison compareWithForm(const StepAnalysis& analysis, const Bubble& bubble);

/// Sets RankAccount::replay, the time in each rank's bubbles during which checks ran. `replays` must be those of the
/// step, or empty.
void countReplays(StepAnalysis& analysis, const StepReplays& replays);

/// `schedule` is the recognised schedule, whose name selects the closed form.
[[nodiscard]] StepAnalysis analyzeStep(const StepTimeline& step, const Schedule& schedule);

/// Same as analyzeStep(), but for successive steps of a run. Results that depend only on the order of ops are reused
/// while the order does not change. Not thread-safe.
class StepAnalyzer {
public:
    /// `schedule` must outlive this object.
    explicit StepAnalyzer(const Schedule& schedule) : schedule_(schedule) {}
    /// `ran` must be the units of the step; if null, they are computed here.
    [[nodiscard]] StepAnalysis analyze(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran = {});
    /// Two parts of analyze(): the first depends only on the order and can run on any thread; the second completes it.
    [[nodiscard]] StepAnalysis asItRan(const StepTimeline& step, const StepOrder& order) const;
    void complete(StepAnalysis& analysis, const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran);
    /// Continues as if this step were the one analysed last. `step` must outlive the next call.
    void startFrom(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran = {}) {
        consolidation_.emplace(step, std::move(ran));
    }

private:
    bool take(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran);
    void consolidate(const StepTimeline& step, StepAnalysis& analysis);

    const Schedule& schedule_;
    std::optional<Consolidation> consolidation_; ///< of the latest step
};

} // namespace bubblescope
