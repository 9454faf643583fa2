#pragma once

#include "core/optimize/overlap/cuts.h"
#include "core/optimize/overlap/streams.h"
#include "core/schedule/schedule.h"

#include <span>
#include <string_view>

namespace bubblescope::overlap {

/// The plans by which the units of a schedule run on their rank's two streams: pairs, and passes that are not in a
/// pair.
struct UnitPlans {
    Plan pair;
    Plan forward;
    Plan backward;
};

struct StepRun {
    TimeNs makespan{0};
    PerPass<TimeNs> all_reduce{}; ///< of all ranks
    PerPass<TimeNs> hidden{};     ///< the part of it that runs in parallel with compute
    int pairs = 0;                ///< over all ranks
    int singles = 0;              ///< backwards that are not in a pair, over all ranks
};

/// Runs a step operator by operator. A pass starts when its rank's compute stream reaches it and its input is available
/// (the neighbour's pass ended, plus `comm`), and delivers its result when its last operator has ended, even from
/// within a pair. The schedule must have whole backwards and one chunk per rank; all stages are equal. Errors: Usage
/// for other schedules and for steps of more than 50 million operators; Input for invalid orders.
[[nodiscard]] Result<StepRun> simulateStep(const Schedule& schedule, const UnitPlans& plans, const StreamRules& rules,
                                           TimeNs comm);

/// The ways to cut and interleave a pair's passes.
enum class Cutting {
    None,        ///< not at all: the backward, then the forward
    Budget,      ///< like PaddlePaddle's pass, cutByBudget()
    BudgetSplit, ///< cutByBudgetSplitting()
    Every,       ///< at every all-reduce of both
    Search,      ///< searchCuts()
    SearchSplit, ///< like Search, but ops longer than an all-reduce are split into the best number of slices
};

/// A way to hide all-reduces, with the name by which users select it.
struct Variant {
    std::string_view name;
    std::string_view title;
    Cutting cutting = Cutting::None;
    bool weight_grads = false; ///< also overlap all-reduces with weight gradients, in every backward
};

/// All variants in display order.
[[nodiscard]] std::span<const Variant> variants();
/// Finds a variant by name; a usage error lists the names if none matches.
[[nodiscard]] Result<Variant> variantNamed(std::string_view name);

/// A pair under one variant, and the passes outside of pairs.
struct PairStudy {
    Variant variant;
    UnitPlans plans;
    PlanRun pair;
    TimeNs forward{0};  ///< a forward alone
    TimeNs backward{0}; ///< a backward alone
    PerPass<TimeNs> all_reduce{};
    PerPass<TimeNs> hidden{};
    std::vector<ReduceSpan> reduces;
    int slices = 0;               ///< number of operators that splitting added to a pair
    CutStop stop = CutStop::None; ///< of the budget rule
    int stopped_at = 0;           ///< the forward op that is too long

    [[nodiscard]] TimeNs pairTime() const { return pair.end(); }
    [[nodiscard]] int cuts() const { return std::max(0, static_cast<int>(plans.pair.pieces.size()) - 2); }
};

[[nodiscard]] PairStudy studyPair(const OpCosts& costs, const Variant& variant);

/// A backward's all-reduce in a pair, and what determines how much of it is hidden.
struct Exposure {
    ReduceSpan span;
    bool own_stream = false; ///< false if the rule did not cut here, so that the all-reduce blocks the compute stream
    TimeNs beside{0};        ///< compute time of the other pass's piece that is issued directly after it
};

[[nodiscard]] std::vector<Exposure> backwardExposures(const PairStudy& study);

/// The start of a pair's first forward op.
[[nodiscard]] TimeNs forwardStart(const PairStudy& study);

/// The part of a stage's backward that computes weight gradients.
[[nodiscard]] TimeNs weightGradTime(const OpCosts& costs);

/// The makespan of 1F1B if all-reduces took no time.
[[nodiscard]] TimeNs idealMakespan(const OpCosts& costs, int pp, int microbatches);

} // namespace bubblescope::overlap
