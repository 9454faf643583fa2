#pragma once

#include "core/optimize/overlap/cuts.h"
#include "core/optimize/overlap/streams.h"
#include "core/schedule/schedule.h"

#include <span>
#include <string_view>

namespace bubblescope::overlap {

/// Plans for running a schedule's units on the two streams of their rank: pairs, and passes outside
/// pairs.
struct UnitPlans {
    Plan pair;
    Plan forward;
    Plan backward;
};

struct StepRun {
    TimeNs makespan{0};
    PerPass<TimeNs> all_reduce{}; ///< total time over all ranks
    PerPass<TimeNs> hidden{};     ///< part of that time that ran in parallel with compute
    int pairs = 0;                ///< number of pairs on all ranks
    int singles = 0;              ///< number of backwards outside pairs on all ranks
};

/// Runs a step operator by operator. A pass starts when its rank's compute stream reaches it and its input is available
/// (`comm` after the neighbour's pass ended). A pass delivers its result when its last operator has ended, even if the
/// pass is part of a pair. The schedule must have combined backwards and one chunk per rank; all stages are equal.
/// Errors: Usage for other schedules and for steps with more than 50 million operators; Input for invalid orders.
[[nodiscard]] Result<StepRun> simulateStep(const Schedule& schedule, const UnitPlans& plans, const StreamRules& rules,
                                           TimeNs comm);

/// Rules for cutting and interleaving the passes of a pair.
enum class Cutting {
    None,        ///< no cuts: the backward, then the forward
    Budget,      ///< cutByBudget(), like PaddlePaddle's pass
    BudgetSplit, ///< cutByBudgetSplitting()
    Every,       ///< cuts at every all-reduce of both passes
    Search,      ///< searchCuts()
    SearchSplit, ///< like Search, but ops longer than an all-reduce are split into the best number of slices
};

/// A way to hide all-reduces, and its name for users.
struct Variant {
    std::string_view name;
    std::string_view title;
    Cutting cutting = Cutting::None;
    bool weight_grads = false; ///< also overlaps all-reduces with weight gradients, in every backward
};

/// All variants in display order.
[[nodiscard]] std::span<const Variant> variants();
/// Finds a variant by name. Error: Usage, with the list of names, if no name matches.
[[nodiscard]] Result<Variant> variantNamed(std::string_view name);

/// A pair under one variant, and the passes outside pairs.
struct PairStudy {
    Variant variant;
    UnitPlans plans;
    PlanRun pair;
    TimeNs forward{0};  ///< time of a forward alone
    TimeNs backward{0}; ///< time of a backward alone
    PerPass<TimeNs> all_reduce{};
    PerPass<TimeNs> hidden{};
    std::vector<ReduceSpan> reduces;
    int slices = 0;               ///< number of operators that splitting added to a pair
    CutStop stop = CutStop::None; ///< reason why the budget rule stopped
    int stopped_at = 0;           ///< index of the forward op that is too long

    [[nodiscard]] TimeNs pairTime() const { return pair.end(); }
    [[nodiscard]] int cuts() const { return std::max(0, static_cast<int>(plans.pair.pieces.size()) - 2); }
};

[[nodiscard]] PairStudy studyPair(const OpCosts& costs, const Variant& variant);

/// A backward's all-reduce in a pair, and the values that determine its hidden part.
struct Exposure {
    ReduceSpan span;
    bool own_stream = false; ///< false if there is no cut after it, so that the all-reduce blocks the compute stream
    TimeNs beside{0};        ///< compute time of the piece of the other pass that is issued next
};

[[nodiscard]] std::vector<Exposure> backwardExposures(const PairStudy& study);

/// The start of a pair's first forward op.
[[nodiscard]] TimeNs forwardStart(const PairStudy& study);

/// The fraction of a stage's backward time that is spent on weight gradients.
[[nodiscard]] TimeNs weightGradTime(const OpCosts& costs);

/// The makespan of 1F1B without the time of all-reduces.
[[nodiscard]] TimeNs idealMakespan(const OpCosts& costs, int pp, int microbatches);

} // namespace bubblescope::overlap
