#pragma once

#include "core/optimize/overlap/cuts.h"
#include "core/optimize/overlap/step.h"

#include <span>
#include <string_view>

namespace bubblescope::overlap {

/// How a pair's passes are cut and interleaved.
enum class Cutting {
    None,        ///< not at all: the backward, then the forward
    Budget,      ///< as PaddlePaddle's pass does, cutByBudget()
    BudgetSplit, ///< cutByBudgetSplitting()
    Every,       ///< at every all-reduce of both
    Search,      ///< searchCuts()
    SearchSplit, ///< the same; ops longer than an all-reduce are split into the number of slices that gives most
};

/// One way to hide all-reduces, under the name that users give.
struct Variant {
    std::string_view name;
    std::string_view title;
    Cutting cutting = Cutting::None;
    bool weight_grads = false; ///< all-reduce beside the weight's gradient too, in every backward
};

/// In the order in which people should see them.
[[nodiscard]] std::span<const Variant> variants();
/// Usage error that lists the names if there is none of that name.
[[nodiscard]] Result<Variant> variantNamed(std::string_view name);

/// A pair under one variant, and the passes outside pairs.
struct PairStudy {
    Variant variant;
    UnitPlans plans;
    PlanRun pair;
    TimeNs forward{0};  ///< one alone
    TimeNs backward{0}; ///< one alone
    PerPass<TimeNs> all_reduce{};
    PerPass<TimeNs> hidden{};
    std::vector<ReduceSpan> reduces;
    int slices = 0;               ///< by how many operators splitting lengthened a pair
    CutStop stop = CutStop::None; ///< of the budget rule
    int stopped_at = 0;           ///< forward op

    [[nodiscard]] TimeNs pairTime() const { return pair.end(); }
    [[nodiscard]] int cuts() const { return std::max(0, static_cast<int>(plans.pair.pieces.size()) - 2); }
};

[[nodiscard]] PairStudy studyPair(const OpCosts& costs, const Variant& variant);

/// A backward's all-reduce in a pair, and why it is hidden as far as it is.
struct Exposure {
    ReduceSpan span;
    bool own_stream = false; ///< false: the rule did not cut here, it blocks the compute stream
    TimeNs beside{0};        ///< compute of the other pass's piece that is issued right behind it
};

[[nodiscard]] std::vector<Exposure> backwardExposures(const PairStudy& study);

/// When a pair's first forward op starts.
[[nodiscard]] TimeNs forwardStart(const PairStudy& study);

/// Of a stage's backward, what gives the weights' gradients.
[[nodiscard]] TimeNs weightGradTime(const OpCosts& costs);

/// The time that a step would take if no all-reduce cost anything: 1F1B's.
[[nodiscard]] TimeNs idealMakespan(const OpCosts& costs, int pp, int microbatches);

} // namespace bubblescope::overlap
