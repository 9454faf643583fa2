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

/// One rank's part of a step. The times of `compute`, `overlapped` and `causes` add up exactly to the step's wall time.
struct RankAccounting {
    Rank rank;
    /// Time per OpKind of ops that ran alone, without the gaps and exposed collectives inside them.
    std::array<TimeNs, 5> compute{};
    TimeNs overlapped{0}; ///< overlapped pairs
    /// Time by which each cause lengthened the rank's bubble; negative if it shortened the bubble, for instance when
    /// the rank's work fills a wait. Gaps and communication include those inside the rank's ops.
    PerCause<TimeNs> causes{};

    [[nodiscard]] TimeNs total() const;
};
template <class Numbers>
constexpr void fields(Numbers& numbers, RankAccounting& value) { // see PackedList
    auto& [rank, compute, overlapped, causes] = value;
    numbers(rank, compute, overlapped, causes);
}

/// The cost of a cause for a step, in three variants that treat interactions between causes differently.
struct WaterfallStep {
    Cause cause = Cause::Schedule;
    TimeNs adds{0};    ///< time added on top of all earlier causes (the waterfall); these times add up to the wall time
    TimeNs alone{0};   ///< time added to a step with typical op times if this is the only cause
    TimeNs without{0}; ///< time that the step would save without this cause
};

struct StepAccounting {
    PackedList<RankAccounting> ranks;
    /// Length of the step with only the schedule's bubble, at most the length of the observed step. Typical times are
    /// scaled down if the step ran faster than usual.
    TimeNs ideal{0};
    std::array<WaterfallStep, kCauseCount - 1> waterfall{}; ///< one step per cause except the schedule
    bool planned_order = true;            ///< false if no plan fits the step and the observed order is used instead
    std::int64_t recorded_transfers = 0;  ///< see StepGraph
    std::int64_t estimated_transfers = 0; ///< see StepGraph
    std::int64_t ignored_inputs = 0;      ///< see StepGraph
    std::int64_t early_starts = 0;        ///< number of units that started before their recorded input arrived
};

/// The planned order of a step that ran in a different order.
struct PlannedReplay {
    bool fits = true;                 ///< false if the plan's ops differ from the step's
    std::optional<StepReplay> replay; ///< empty if the step ran as planned or the plan does not fit

    /// If `plan` is null, the step's order is used as the plan. `graph` must be the graph of the step. The result is
    /// valid for all steps with this order.
    PlannedReplay(const StepTimeline& step, const StepGraph& graph, const Schedule* plan);
};

/// Accounts for a step's time with a waterfall of replays. `observed`, `replay` (in the observed order), `planned` and
/// `usual` must belong to the step. Linear in ops.
[[nodiscard]] StepAccounting accountStep(const StepTimeline& step, const ObservedStep& observed,
                                         const StepReplay& replay, const PlannedReplay& planned,
                                         const UnitTimes& usual);

/// Minimum fraction of a run's ops that must have the same predecessor as in the closest family's order for the run to
/// count as a departure from that family. Below this fraction, the run has a custom order.
inline constexpr double kDepartureFraction = 0.75;

/// The planned order of a run's steps: the closest family's order if the steps follow it, possibly with departures;
/// otherwise the first step's order. The reference is valid as long as the run exists. Linear in ops.
[[nodiscard]] const Schedule& plannedOrder(const Run& run);

/// Information about a run's steps that the timelines do not contain, excluding re-executed work. `clock_error` is the
/// maximum error between the clocks of two ranks.
[[nodiscard]] StepKnowledge knownOfSteps(const Run& run, TimeNs clock_error);

/// Notes on an accounting's figures for display, one clause each, without a full stop.
[[nodiscard]] std::vector<Sentence> accountingNotes(const StepAccounting& account);

} // namespace bubblescope
