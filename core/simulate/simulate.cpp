#include "core/simulate/simulate.h"

#include "core/schedule/dependency.h"
#include "core/schedule/validate.h"

#include <algorithm>

namespace bubblescope {
namespace {

class Simulation {
public:
    Simulation(const Schedule& schedule, const CostModel& costs, const OpGraph& graph)
        : costs_(costs), graph_(graph), end_(static_cast<std::size_t>(graph.size()), TimeNs{0}) {
        step_.pp = schedule.pp;
        step_.microbatches = schedule.microbatches;
        step_.vpp = schedule.vpp;
        step_.placement = schedule.placement;
        step_.ranks.resize(schedule.ranks.size());
        step_.comm.resize(schedule.ranks.size());
        for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
            step_.ranks[r].reserve(schedule.ranks[r].size());
    }

    StepTimeline run(const std::vector<OpIndex>& order) {
        for (const OpIndex op : order)
            execute(op);
        for (auto& spans : step_.comm) {
            std::stable_sort(spans.begin(), spans.end(),
                             [](const CommSpan& a, const CommSpan& b) { return a.start < b.start; });
        }
        step_.fitWindow();
        return std::move(step_);
    }

private:
    void execute(OpIndex index) {
        const OpIndex partner = graph_.partner(index);
        if (partner != kNoOp && partner < index) return; // ran with its other half
        const auto& ops = step_.ranks[graph_.rank(index).index()];
        const TimeNs free = ops.empty() ? TimeNs{0} : ops.back().end;
        if (partner == kNoOp) {
            const TimeNs start = std::max(free, arrival(index));
            place(index, free, start, start + opTime(index));
            return;
        }
        const TimeNs start = std::max({free, arrival(index), arrival(partner)});
        const TimeNs end = start + costs_.overlapped.value_or(opTime(index) + opTime(partner));
        place(index, free, start, end);
        place(partner, free, start, end);
    }

    void place(OpIndex index, TimeNs free, TimeNs start, TimeNs end) {
        step_.ranks[graph_.rank(index).index()].push_back({graph_.op(index), start, end, TimeNs{0}});
        end_[static_cast<std::size_t>(index)] = end;
        recordTransfer(index, free, start);
    }

    [[nodiscard]] TimeNs opTime(OpIndex index) const {
        return costs_.opTime(graph_.op(index).kind, graph_.stage(index));
    }

    [[nodiscard]] bool crossesRanks(OpIndex index) const {
        const OpIndex producer = graph_.producers(index).stage;
        return producer >= 0 && graph_.rank(producer) != graph_.rank(index);
    }

    /// When the neighbouring stage's data is there. What the same stage kept is there by its rank's order.
    [[nodiscard]] TimeNs arrival(OpIndex index) const {
        const OpIndex producer = graph_.producers(index).stage;
        if (producer < 0) return TimeNs{0};
        return end_[static_cast<std::size_t>(producer)] + (crossesRanks(index) ? costs_.comm : TimeNs{0});
    }

    void recordTransfer(OpIndex index, TimeNs free, TimeNs start) {
        if (!crossesRanks(index)) return;
        const Op& op = graph_.op(index);
        const Rank to = graph_.rank(index);
        const Rank from = graph_.rank(graph_.producers(index).stage);
        CommSpan span;
        span.payload = op.kind == OpKind::Forward ? Payload::Activation : Payload::Gradient;
        span.microbatch = op.microbatch;
        span.stage = graph_.stage(index);
        span.sequence = op.sequence;
        span.end = arrival(index);
        span.start = span.end - costs_.comm;
        span.kind = CommKind::Send;
        span.peer = to;
        step_.comm[from.index()].push_back(span);
        span.kind = CommKind::Receive;
        span.peer = from;
        step_.comm[to.index()].push_back(span);
        if (start > free) {
            span.kind = CommKind::Wait;
            span.start = free;
            span.end = start;
            step_.comm[to.index()].push_back(span);
        }
    }

    const CostModel& costs_;
    const OpGraph& graph_;
    std::vector<TimeNs> end_;
    StepTimeline step_;
};

} // namespace

Result<StepTimeline> simulate(const Schedule& schedule, const CostModel& costs) {
    if (!costs.stages.empty() && costs.stages.size() != static_cast<std::size_t>(schedule.stages())) {
        return usageError("per-stage times must name every stage");
    }
    BUBBLESCOPE_ASSIGN(const Execution execution, prepareExecution(schedule));
    return Simulation(schedule, costs, execution.graph).run(execution.order);
}

} // namespace bubblescope
