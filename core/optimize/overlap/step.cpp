#include "core/optimize/overlap/step.h"

#include "core/graph/validate.h"
#include "core/optimize/overlap/busy_time.h"

#include <fmt/format.h>

#include <algorithm>

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

    /// When the inputs are available: the neighbour's result, and for a backward the result of its own forward.
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
        return usageError("operators are simulated for orders of whole forwards and backwards, one chunk a rank",
                          "use 1f1b or 1f1b-overlap");
    }
    constexpr double kMost = 50e6;
    const double operators = static_cast<double>(schedule.opCount()) *
                             static_cast<double>(plans.pair.ops[0].size() + plans.pair.ops[1].size()) / 2;
    if (operators > kMost) {
        return usageError(fmt::format("the step has {:.0f} million operators, more than 50", operators / 1e6),
                          "give fewer micro-batches, ranks or layers");
    }
    return {};
}

} // namespace

Result<StepRun> simulateStep(const Schedule& schedule, const UnitPlans& plans, const StreamRules& rules, TimeNs comm) {
    BUBBLESCOPE_TRY(check(schedule, plans));
    BUBBLESCOPE_ASSIGN(const Execution execution, prepareExecution(schedule));
    return StepSimulation(execution.graph, plans, rules, comm).run(execution.order);
}

} // namespace bubblescope::overlap
