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

/// A rank's step. The times of `compute`, `overlapped` and `causes` add up exactly to the step's wall time.
struct RankAccounting {
    Rank rank;
    /// Per OpKind: ops that ran alone, without the gaps and exposed collectives inside them.
    std::array<TimeNs, 5> compute{};
    TimeNs overlapped{0}; ///< overlapped pairs
    /// The time by which each cause lengthened the rank's bubble; negative if it shortened it, for instance when the
    /// rank's own work fills a wait. Gaps and communication also include those inside the rank's own ops.
    PerCause<TimeNs> causes{};

    [[nodiscard]] TimeNs total() const;
};
template <class Numbers>
constexpr void fields(Numbers& numbers, RankAccounting& value) { // see PackedList
    auto& [rank, compute, overlapped, causes] = value;
    numbers(rank, compute, overlapped, causes);
}

/// The cost of a cause for the step as a whole, in three ways that treat interactions between causes differently.
struct WaterfallStep {
    Cause cause = Cause::Schedule;
    TimeNs adds{0};    ///< time added to the step with all earlier causes (the waterfall); these sum to the wall time
    TimeNs alone{0};   ///< time added to the step at typical times, as the only cause
    TimeNs without{0}; ///< time that the step would save without this cause
};

struct StepAccounting {
    PackedList<RankAccounting> ranks;
    /// The length of the step with only the schedule's own bubble, at most that of the observed step. If typical times
    /// would make it longer, they are scaled down, because the step ran faster than usual.
    TimeNs ideal{0};
    std::array<WaterfallStep, kCauseCount - 1> waterfall{}; ///< all causes except the schedule
    bool planned_order = true;           ///< false if no plan fits the step's ops: its own order then counts as planned
    std::int64_t recorded_transfers = 0; ///< see StepGraph
    std::int64_t estimated_transfers = 0; ///< see StepGraph
    std::int64_t ignored_inputs = 0;      ///< see StepGraph
    std::int64_t early_starts = 0; ///< units that, according to the record, started before their input had arrived
};

/// The order that a step was meant to follow, if it ran in a different one.
struct PlannedReplay {
    bool fits = true;                 ///< false if the plan's ops differ from the step's
    std::optional<StepReplay> replay; ///< none if the step ran as planned, or the plan does not fit

    /// If `plan` is null, the step's own order counts as planned. `graph` must be the step's. Valid for all steps of
    /// its order.
    PlannedReplay(const StepTimeline& step, const StepGraph& graph, const Schedule* plan);
};

/// Accounts for a step's time by a waterfall of replays. `observed`, `replay` (in the observed order), `planned` and
/// `usual` must be made from the step. Linear in ops.
[[nodiscard]] StepAccounting accountStep(const StepTimeline& step, const ObservedStep& observed,
                                         const StepReplay& replay, const PlannedReplay& planned,
                                         const UnitTimes& usual);

/// A run that does not follow the closest family's order counts as departing from it if at least this fraction of its
/// ops has the same predecessor there; otherwise as having an order of its own.
inline constexpr double kDepartureFraction = 0.75;

/// The order that a run's steps were meant to follow: that of the family that they follow, possibly with departures;
/// otherwise that of the first step. Lives as long as the run. Linear in ops.
[[nodiscard]] const Schedule& plannedOrder(const Run& run);

/// Data about a run's steps besides their timelines, without re-executed work. `clock_error` is the maximum error
/// between two ranks' clocks.
[[nodiscard]] StepKnowledge knownOfSteps(const Run& run, TimeNs clock_error);

/// Notes on an accounting's figures for display, one clause each, without a full stop.
[[nodiscard]] std::vector<Sentence> accountingNotes(const StepAccounting& account);

} // namespace bubblescope
