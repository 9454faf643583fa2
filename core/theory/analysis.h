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

/// One rank's step: how its time was spent, compared with the closed form.
struct RankAccount {
    Rank rank;
    TimeNs busy{0};
    TimeNs bubble{0}; ///< wall − busy, within the pipeline window
    TimeNs replay{0}; ///< the part of the bubble in which checks ran (see countReplays()); the rest is idle
    std::optional<TimeNs> expected_bubble; ///< total of the closed form; none if no form applies
    PerPosition<TimeNs> executed{};        ///< bubble per position as it ran
    PerPosition<TimeNs> observed{};        ///< bubble per position after consolidation, comparable with `expected`
    PerPosition<TimeNs> expected{};        ///< closed form per position; 0 if none
};
template <class Numbers>
constexpr void fields(Numbers& numbers, RankAccount& value) { // see PackedList
    auto& [rank, busy, bubble, replay, expected_bubble, executed, observed, expected] = value;
    numbers(rank, busy, bubble, replay, expected_bubble, executed, observed, expected);
}

/// A step compared with theory. Shared by the command line and the GUI.
struct StepAnalysis {
    int index = 0;
    int replica = 0; ///< as in StepTimeline
    bool order_of_previous =
        false; ///< true if the step ran the same ops in the same order as the one that the StepAnalyzer analysed before
    TimeNs wall{0};
    BubbleRates rates; ///< as executed
    /// Typical time per op kind, the input of the closed form. If the form would then be longer than the step, the
    /// times are scaled down, because the step ran faster than that.
    OpTimes typical;
    std::optional<ClosedForm> form; ///< exact, and at most as long as the step; none if the schedule has none
    std::optional<TimeNs> at_least; ///< without an exact form, a lower bound on the wall time at these op times
    std::string form_note;          ///< why there is no exact form; empty otherwise
    bool positions_known = false;   ///< false if theory only gives totals: RankAccount::expected is then meaningless
    PackedList<RankAccount> ranks;
    std::vector<std::vector<Bubble>> bubbles; ///< as executed, per rank

    [[nodiscard]] bool positionsKnown() const { return positions_known; }
    /// Drops data needed only for a single step, and data that grows with ops: the bubbles, and everything in the form
    /// except its totals. analyzeStep() can compute both again. Packs the ranks' accounts.
    void keepTotals();
};

/// The closed form of a rank's bubbles at a position; null if the step's form lists none.
[[nodiscard]] const PositionForm* findForm(const StepAnalysis& analysis, Rank rank, Position position);

/// The result of comparing an executed bubble with the closed form at its position. The form counts all of a rank's
/// idle time at the position after consolidation, so a bubble is only comparable if it is the only one at its position
/// and consolidation does not change that position.
struct FormComparison {
    enum class Kind : std::uint8_t {
        NoForm,     ///< the schedule has no closed form by position
        NotInForm,  ///< the form has no bubble at this position
        Several,    ///< several executed bubbles share the position
        Moved,      ///< consolidation moves part of the position's idle time elsewhere
        Comparable, ///< the bubble matches what the form counts
    };
    Kind kind = Kind::NoForm;
    TimeNs expected{0};
    const PositionForm* form = nullptr; ///< points into the analysis; null for NoForm, and if the form lists none
};

/// `bubble` must be one of StepAnalysis::bubbles.
[[nodiscard]] FormComparison compareWithForm(const StepAnalysis& analysis, const Bubble& bubble);

/// Sets RankAccount::replay, the time in each rank's bubbles that was filled with checks. `replays` are those of the
/// step, or empty.
void countReplays(StepAnalysis& analysis, const StepReplays& replays);

/// `schedule` is the recognised one (its name selects the closed form).
[[nodiscard]] StepAnalysis analyzeStep(const StepTimeline& step, const Schedule& schedule);

/// Like analyzeStep(), for successive steps of a run. While steps have the same order, results that depend only on the
/// order are reused. Not thread-safe.
class StepAnalyzer {
public:
    /// `schedule` must outlive this object.
    explicit StepAnalyzer(const Schedule& schedule) : schedule_(schedule) {}
    /// `ran` must be the units of the step; if null, they are computed here.
    [[nodiscard]] StepAnalysis analyze(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran = {});
    /// analyze() in two parts: first the part that needs only the order, on any thread, then the rest.
    [[nodiscard]] StepAnalysis asItRan(const StepTimeline& step, const StepOrder& order) const;
    void complete(StepAnalysis& analysis, const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran);
    /// Continues as if this step had been analysed last. `step` must outlive the next call.
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
