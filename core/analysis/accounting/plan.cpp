#include "core/analysis/accounting/plan.h"

#include "core/schedule/dependency.h"

namespace bubblescope {
namespace {

double shareInPlace(const Schedule& plan, const Schedule& ran) {
    const OpGraph graph(plan);
    std::size_t in_place = 0;
    for (std::size_t r = 0; r < ran.ranks.size(); ++r) {
        const auto& ops = ran.ranks[r];
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (!graph.inRange(ops[i]) || ops[i].kind == OpKind::Optimizer) continue;
            const OpIndex found =
                graph.find(ops[i].kind, ops[i].microbatch, ran.stageOf(Rank{r}, ops[i].chunk), ops[i].sequence);
            if (found < 0) continue;
            const OpIndex before = graph.previous(found);
            in_place += (before == kNoOp ? i == 0 : i > 0 && graph.op(before) == ops[i - 1]) ? 1U : 0U;
        }
    }
    return static_cast<double>(in_place) / static_cast<double>(std::max<std::size_t>(ran.opCount(), 1));
}

} // namespace

const Schedule& plannedOrder(const Run& run) {
    if (!run.departure || !run.closest_order) return run.schedule;
    return shareInPlace(*run.closest_order, run.schedule) >= kDepartureShare ? *run.closest_order : run.schedule;
}

} // namespace bubblescope
