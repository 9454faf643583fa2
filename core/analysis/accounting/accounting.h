#pragma once

#include "core/analysis/accounting/cause.h"
#include "core/analysis/accounting/usual_times.h"
#include "core/base/packed_list.h"
#include "core/base/sentence.h"
#include "core/graph/step_replay.h"
#include "core/recognise/run.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope {

/// A rank's step. The times of `compute`, `overlapped` and `causes` sum to the step's wall time, to the nanosecond.
struct RankAccounting {
    Rank rank;
    /// Per OpKind: of ops that ran alone, gaps and exposed collectives inside them left out.
    std::array<TimeNs, 5> compute{};
    TimeNs overlapped{0}; ///< of overlapped pairs
    /// By how much each cause made the rank's bubble longer; negative where it made it shorter, as work of the
    /// rank's own does that fills a wait. Gaps and communication also hold those inside the rank's own ops.
    PerCause<TimeNs> causes{};

    [[nodiscard]] TimeNs total() const;
};
template <class Numbers>
constexpr void fields(Numbers& numbers, RankAccounting& value) { // see PackedList
    auto& [rank, compute, overlapped, causes] = value;
    numbers(rank, compute, overlapped, causes);
}

/// What a cause costs the step as a whole, in three ways that differ by how causes work together.
struct WaterfallStep {
    Cause cause = Cause::Schedule;
    TimeNs adds{0};    ///< to the step with all causes before it, the waterfall; these sum to the wall time
    TimeNs alone{0};   ///< to the step at typical times, if it were the only one
    TimeNs without{0}; ///< what the step would save if this cause alone were gone
};

struct StepAccounting {
    PackedList<RankAccounting> ranks;
    /// The step with the schedule's own bubble only: at most the observed one. Where typical times make it longer, the
    /// step ran faster than usual, and they count in proportion.
    TimeNs ideal{0};
    std::array<WaterfallStep, kCauseCount - 1> waterfall{}; ///< all causes but the schedule
    bool planned_order = true; ///< false where no plan fits the step's ops: its own order then counts as planned
    std::int64_t recorded_transfers = 0;  ///< see StepGraph
    std::int64_t estimated_transfers = 0; ///< the same
    std::int64_t ignored_inputs = 0;      ///< the same
    std::int64_t early_starts = 0;        ///< units that began before their input was there, by the record
};

/// The order that a step was meant to follow, beside that in which it ran.
struct PlannedReplay {
    bool fits = true;                 ///< false where the plan has other ops than the step
    std::optional<StepReplay> replay; ///< none where the step ran as planned, or the plan does not fit

    /// `plan` = null for the step's own order. `graph` was made of the step. Holds for all steps of its order.
    PlannedReplay(const StepTimeline& step, const StepGraph& graph, const Schedule* plan);
};

/// Accounts a step by a waterfall of replays. `observed`, `replay` in the observed order, `planned` and `usual` were
/// made of it. Linear in ops.
[[nodiscard]] StepAccounting accountStep(const StepTimeline& step, const ObservedStep& observed,
                                         const StepReplay& replay, const PlannedReplay& planned,
                                         const UnitTimes& usual);

/// A run that leaves the closest family's order has made departures from it if at least this fraction of its ops follow
/// the op that they follow there; with less it has an order of its own.
inline constexpr double kDepartureFraction = 0.75;

/// The order that a run's steps were meant to follow: the family's whose order they have, or whose order they left
/// here and there; else that of the first step. Lives as long as the run. Linear in ops.
[[nodiscard]] const Schedule& plannedOrder(const Run& run);

/// What a run contains about its steps in addition to their timelines, without replayed work. `clock_error` is how far
/// two ranks' clocks can be off.
[[nodiscard]] StepKnowledge knownOfSteps(const Run& run, TimeNs clock_error);

/// What to know of an accounting's figures, for people; a clause each, without a full stop.
[[nodiscard]] std::vector<Sentence> accountingNotes(const StepAccounting& account);

} // namespace bubblescope
