#pragma once

#include "core/optimize/overlap/cuts.h"
#include "core/optimize/overlap/streams.h"
#include "core/schedule/schedule.h"

#include <span>
#include <string_view>

namespace bubblescope::overlap {

/// How each unit of a schedule runs on its rank's two streams: a pair, and passes that are not in a pair.
struct UnitPlans {
    Plan pair;
    Plan forward;
    Plan backward;
};

struct StepRun {
    TimeNs makespan{0};
    PerPass<TimeNs> all_reduce{}; ///< of all ranks
    PerPass<TimeNs> hidden{};     ///< the part of that which runs in parallel with compute
    int pairs = 0;                ///< over all ranks
    int singles = 0;              ///< backwards that are not in a pair, over all ranks
};

/// Runs a step operator by operator. A pass starts when its rank's compute stream reaches it and its input is available
/// (the neighbour's pass ended, plus `comm`), and delivers its result when its last operator has ended, even from
/// within a pair. The schedule must have whole backwards and one chunk per rank; all stages are equal. Errors: Usage
/// for other schedules and for steps of more than 50 million operators; Input for invalid orders.
[[nodiscard]] Result<StepRun> simulateStep(const Schedule& schedule, const UnitPlans& plans, const StreamRules& rules,
                                           TimeNs comm);

/// How a pair's passes are cut and interleaved.
enum class Cutting {
    None,        ///< not at all: the backward, then the forward
    Budget,      ///< like PaddlePaddle's pass, cutByBudget()
    BudgetSplit, ///< cutByBudgetSplitting()
    Every,       ///< at every all-reduce of both
    Search,      ///< searchCuts()
    SearchSplit, ///< as Search; ops longer than an all-reduce are split into the best number of slices
};

/// A way to hide all-reduces, under the name that users give.
struct Variant {
    std::string_view name;
    std::string_view title;
    Cutting cutting = Cutting::None;
    bool weight_grads = false; ///< also overlap all-reduces with weight gradients, in every backward
};

/// In display order.
[[nodiscard]] std::span<const Variant> variants();
/// Usage error that lists the names if none matches.
[[nodiscard]] Result<Variant> variantNamed(std::string_view name);

/// A pair under one variant, and the passes outside of pairs.
struct PairStudy {
    Variant variant;
    UnitPlans plans;
    PlanRun pair;
    TimeNs forward{0};  ///< one alone
    TimeNs backward{0}; ///< one alone
    PerPass<TimeNs> all_reduce{};
    PerPass<TimeNs> hidden{};
    std::vector<ReduceSpan> reduces;
    int slices = 0;               ///< how much splitting lengthened a pair, in operators
    CutStop stop = CutStop::None; ///< of the budget rule
    int stopped_at = 0;           ///< forward op

    [[nodiscard]] TimeNs pairTime() const { return pair.end(); }
    [[nodiscard]] int cuts() const { return std::max(0, static_cast<int>(plans.pair.pieces.size()) - 2); }
};

[[nodiscard]] PairStudy studyPair(const OpCosts& costs, const Variant& variant);

/// A backward's all-reduce in a pair, and what determines how much of it is hidden.
struct Exposure {
    ReduceSpan span;
    bool own_stream = false; ///< false: the rule did not cut here, so it blocks the compute stream
    TimeNs beside{0};        ///< compute of the other pass's piece that is issued directly after it
};

[[nodiscard]] std::vector<Exposure> backwardExposures(const PairStudy& study);

/// When a pair's first forward op starts.
[[nodiscard]] TimeNs forwardStart(const PairStudy& study);

/// The part of a stage's backward that computes weight gradients.
[[nodiscard]] TimeNs weightGradTime(const OpCosts& costs);

/// The time of a step if all-reduces took no time: 1F1B's.
[[nodiscard]] TimeNs idealMakespan(const OpCosts& costs, int pp, int microbatches);

} // namespace bubblescope::overlap
