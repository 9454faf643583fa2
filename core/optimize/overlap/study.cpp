#include "core/optimize/overlap/study.h"

#include "core/graph/validate.h"
#include "core/optimize/overlap/cuts.h"
#include "core/optimize/overlap/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope::overlap {
namespace {

struct RankStreams {
    StreamState state;
    BusyTime busy;
    std::vector<OpSpan> reduces;
};

class StepSimulation {
public:
    StepSimulation(const OpGraph& graph, const UnitPlans& plans, const StreamRules& rules, TimeNs comm)
        : graph_(graph), plans_(plans), rules_(rules), comm_(comm), end_(static_cast<std::size_t>(graph.size())),
          ranks_(static_cast<std::size_t>(graph.rankCount())) {}

    StepRun run(const std::vector<OpIndex>& order) {
        for (const OpIndex op : order) {
            const OpIndex partner = graph_.partner(op);
            if (partner == kNoOp || partner > op) execute(op, partner);
        }
        for (const RankStreams& rank : ranks_) {
            for (const OpSpan& span : rank.reduces) {
                step_.all_reduce[passIndex(span.pass)] += span.end - span.start;
                step_.hidden[passIndex(span.pass)] += rank.busy.within(span.start, span.end);
            }
        }
        return step_;
    }

private:
    [[nodiscard]] Pass passOf(OpIndex op) const {
        return graph_.op(op).kind == OpKind::Forward ? Pass::Forward : Pass::Backward;
    }

    void execute(OpIndex op, OpIndex partner) {
        RankStreams& rank = ranks_[graph_.rank(op).index()];
        const Pass pass = passOf(op);
        const Plan& plan = partner != kNoOp ? plans_.pair : pass == Pass::Forward ? plans_.forward : plans_.backward;
        PerPass<TimeNs> arrivals{};
        arrivals[passIndex(pass)] = arrival(op);
        if (partner != kNoOp) arrivals[passIndex(passOf(partner))] = arrival(partner);
        const PlanRun run = runPlan(plan, rules_, rank.state, arrivals);
        record(rank, plan, run);
        finish(op, pass, run);
        if (partner != kNoOp) {
            finish(partner, passOf(partner), run);
            ++step_.pairs;
        } else if (pass == Pass::Backward) {
            ++step_.singles;
        }
    }

    void finish(OpIndex op, Pass pass, const PlanRun& run) {
        end_[static_cast<std::size_t>(op)] = run.ends[passIndex(pass)];
        step_.makespan = std::max(step_.makespan, run.ends[passIndex(pass)]);
    }

    /// The time at which an op's inputs are available: the neighbour's result and, for a backward, the result of its
    /// own forward.
    [[nodiscard]] TimeNs arrival(OpIndex op) const {
        const Producers& needs = graph_.producers(op);
        TimeNs at{0};
        if (needs.stage >= 0) {
            const bool crosses = graph_.rank(needs.stage) != graph_.rank(op);
            at = end_[static_cast<std::size_t>(needs.stage)] + (crosses ? comm_ : TimeNs{0});
        }
        if (needs.own >= 0) at = std::max(at, end_[static_cast<std::size_t>(needs.own)]);
        return at;
    }

    static void record(RankStreams& rank, const Plan& plan, const PlanRun& run) {
        for (const OpSpan& span : run.spans) {
            if (plan.of(span.pass)[static_cast<std::size_t>(span.op)].all_reduce) {
                rank.reduces.push_back(span);
            } else {
                rank.busy.add(span.start, span.end);
            }
        }
    }

    const OpGraph& graph_;
    const UnitPlans& plans_;
    const StreamRules& rules_;
    TimeNs comm_;
    std::vector<TimeNs> end_;
    std::vector<RankStreams> ranks_;
    StepRun step_;
};

Status check(const Schedule& schedule, const UnitPlans& plans) {
    const bool split = std::ranges::any_of(schedule.ranks, [](const auto& ops) {
        return std::ranges::any_of(
            ops, [](const Op& op) { return op.kind != OpKind::Forward && op.kind != OpKind::Backward; });
    });
    if (split || schedule.vpp != 1) {
        return usageError("operators can only be simulated for whole forwards and backwards with one chunk per rank",
                          "use 1f1b or 1f1b-overlap");
    }
    constexpr double kMax = 50e6;
    const double operators = static_cast<double>(schedule.opCount()) *
                             static_cast<double>(plans.pair.ops[0].size() + plans.pair.ops[1].size()) / 2;
    if (operators > kMax) {
        return usageError(
            fmt::format("the step has {:.0f} million operators; the limit is 50 million", operators / 1e6),
            "use fewer micro-batches, ranks or layers");
    }
    return {};
}

} // namespace

Result<StepRun> simulateStep(const Schedule& schedule, const UnitPlans& plans, const StreamRules& rules, TimeNs comm) {
    BUBBLESCOPE_TRY(check(schedule, plans));
    BUBBLESCOPE_ASSIGN(const Execution execution, prepareExecution(schedule));
    return StepSimulation(execution.graph, plans, rules, comm).run(execution.order);
}

namespace {

constexpr Variant kVariants[] = {
    {"none", "no overlap", Cutting::None, false},
    {"dw", "all-reduce overlaps the weight gradient", Cutting::None, true},
    {"paddle", "cut as in Paddle's pass", Cutting::Budget, false},
    {"paddle+dw", "Paddle's cuts, and all-reduce overlaps the weight gradient", Cutting::Budget, true},
    {"paddle-split", "Paddle's cuts, long forward ops split", Cutting::BudgetSplit, false},
    {"every", "cut at every all-reduce", Cutting::Every, false},
    {"search", "searched cuts", Cutting::Search, false},
    {"search-split", "searched cuts, long ops split", Cutting::SearchSplit, false},
    {"search-split+dw", "searched cuts, long ops split, and all-reduce overlaps the weight gradient",
     Cutting::SearchSplit, true},
};

TimeNs budgetOf(const OpCosts& costs) {
    return costs.cut_budget.value_or(longestAllReduce(costs.backward));
}

/// Beyond this, the search for one number of slices takes seconds.
constexpr std::size_t kMaxStates = 8'000'000;

/// Tries each number of slices, the same for all long ops, and keeps the one with the shortest pair.
Plan searchWithSlices(const OpCosts& costs, const Operators& backward, const Operators& forward) {
    Plan best = searchCuts(backward, forward, costs.rules);
    TimeNs best_time = runPlan(best, costs.rules).end();
    const TimeNs longest = std::min(longestAllReduce(backward), longestAllReduce(forward));
    const TimeNs ideal = computeTime(backward) + computeTime(forward);
    for (int slices = 2; slices <= costs.max_slices && best_time > ideal; ++slices) {
        const auto split = [&](const Operators& ops) {
            Operators out;
            for (const Operator& op : ops) {
                // Exactly the number of slices being tried, regardless of their length.
                const Operators one =
                    splitLongOps({op}, op.time > longest ? TimeNs{0} : op.time, slices, costs.slice_loss);
                out.insert(out.end(), one.begin(), one.end());
            }
            return out;
        };
        Operators split_backward = split(backward);
        Operators split_forward = split(forward);
        if (split_backward.size() * split_forward.size() > kMaxStates) break;
        Plan plan = searchCuts(std::move(split_backward), std::move(split_forward), costs.rules);
        const TimeNs time = runPlan(plan, costs.rules).end();
        if (time >= best_time) continue;
        best_time = time;
        best = std::move(plan);
    }
    return best;
}

void cutPair(PairStudy& study, const OpCosts& costs, const Operators& backward, const Operators& forward) {
    Plan& plan = study.plans.pair;
    switch (study.variant.cutting) {
    case Cutting::None: plan = uncut(backward, forward); return;
    case Cutting::Every: plan = cutAtEveryAllReduce(backward, forward); return;
    case Cutting::Search: plan = searchCuts(backward, forward, costs.rules); return;
    case Cutting::SearchSplit: plan = searchWithSlices(costs, backward, forward); return;
    case Cutting::Budget:
    case Cutting::BudgetSplit: break;
    }
    const TimeNs budget = budgetOf(costs);
    RuleCut cut = study.variant.cutting == Cutting::Budget
                      ? cutByBudget(backward, forward, budget)
                      : cutByBudgetSplitting(backward, forward, budget, costs.max_slices, costs.slice_loss);
    plan = std::move(cut.plan);
    study.stop = cut.stop;
    study.stopped_at = cut.stopped_at;
}

} // namespace

std::span<const Variant> variants() {
    return kVariants;
}

Result<Variant> variantNamed(std::string_view name) {
    std::string names;
    for (const Variant& variant : kVariants) {
        if (variant.name == name) return variant;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", variant.name);
    }
    return usageError(fmt::format("unknown way to cut a pair '{}'", name), "use one of " + names);
}

PairStudy studyPair(const OpCosts& costs, const Variant& variant) {
    PairStudy study;
    study.variant = variant;
    const Operators forward = stagePass(costs.forward, costs.layers);
    const Operators whole = stagePass(costs.backward, costs.layers);
    const Operators backward = variant.weight_grads ? splitWeightGrads(whole) : whole;
    study.plans.forward = uncut(forward, Pass::Forward);
    study.plans.backward = uncut(backward, Pass::Backward);
    study.forward = runPlan(study.plans.forward, costs.rules).end();
    study.backward = runPlan(study.plans.backward, costs.rules).end();
    cutPair(study, costs, backward, forward);
    study.pair = runPlan(study.plans.pair, costs.rules);
    study.reduces = reduceSpans(study.plans.pair, study.pair);
    for (const ReduceSpan& span : study.reduces) {
        study.all_reduce[passIndex(span.pass)] += span.time;
        study.hidden[passIndex(span.pass)] += span.hidden;
    }
    study.slices = static_cast<int>(study.pair.spans.size() - backward.size() - forward.size());
    return study;
}

std::vector<Exposure> backwardExposures(const PairStudy& study) {
    const Plan& plan = study.plans.pair;
    std::vector<Exposure> exposures;
    for (const ReduceSpan& span : study.reduces) {
        if (span.pass != Pass::Backward) continue;
        Exposure exposure{span, plan.of(span.pass)[static_cast<std::size_t>(span.op)].own_stream, {}};
        const auto piece = std::ranges::find_if(
            plan.pieces, [&](const Piece& one) { return one.pass == Pass::Backward && one.end == span.op + 1; });
        if (exposure.own_stream && piece != plan.pieces.end() && std::next(piece) != plan.pieces.end()) {
            const Piece& next = *std::next(piece);
            for (int op = next.first; op < next.end && next.pass == Pass::Forward; ++op) {
                const Operator& other = plan.of(next.pass)[static_cast<std::size_t>(op)];
                exposure.beside += other.all_reduce ? TimeNs{0} : other.time;
            }
        }
        exposures.push_back(exposure);
    }
    return exposures;
}

TimeNs forwardStart(const PairStudy& study) {
    return std::ranges::find(study.pair.spans, Pass::Forward, &OpSpan::pass)->start;
}

TimeNs weightGradTime(const OpCosts& costs) {
    TimeNs sum{0};
    for (const Operator& op : costs.backward)
        sum += op.weight_grad * costs.layers;
    return sum;
}

TimeNs idealMakespan(const OpCosts& costs, int pp, int microbatches) {
    const TimeNs both = computeTime(costs.forward) + computeTime(costs.backward);
    return both * costs.layers * (std::int64_t{pp} + microbatches - 1);
}

} // namespace bubblescope::overlap
