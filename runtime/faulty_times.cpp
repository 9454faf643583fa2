#include "runtime/faulty_times.h"

#include "core/cost/measured_times.h"
#include "core/graph/cost_table.h"
#include "core/graph/simulate.h"
#include "runtime/faults/rank_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

Status checkSimulated(std::span<const Fault> faults) {
    for (const Fault& fault : faults) {
        const FaultKind kind = fault.kind;
        if (kind == FaultKind::Slow || kind == FaultKind::Op || kind == FaultKind::Jitter || kind == FaultKind::Link)
            continue;
        return usageError(fmt::format("{}: this fault cannot be simulated", fault.text),
                          "use slow, op, jitter or link, or run the schedule");
    }
    return {};
}

/// Sets the times of a rank's ops, and of the transfers that feed them.
class FaultyRank {
public:
    FaultyRank(const OpGraph& graph, const CostTable& table, std::span<const Fault> faults, Rank rank, int step,
               MeasuredTimes& times)
        : graph_(graph), table_(table), faults_(faults, rank), rank_(rank), step_(step), times_(times) {}

    void setTimes() {
        if (faults_.none()) return;
        for (OpIndex op = graph_.firstOf(rank_); op < graph_.endOf(rank_); ++op) {
            if (graph_.partner(op) < op || graph_.partner(op) == kNoOp) setUnit(op, graph_.partner(op));
            if (graph_.receives(op)) setInput(op);
        }
    }

private:
    [[nodiscard]] TimeNs added(OpIndex op) const {
        const TimeNs usual = table_.op(graph_, op);
        return usual > TimeNs{0} ? faults_.opTime(graph_.op(op), step_, usual) - usual : TimeNs{0};
    }

    void setUnit(OpIndex op, OpIndex partner) {
        TimeNs time = table_.unit(graph_, op, partner) + added(op);
        if (partner != kNoOp) time += added(partner);
        time = std::max(time, TimeNs{0});
        times_.setOp(rank_, graph_.op(op), time);
        if (partner != kNoOp) times_.setOp(rank_, graph_.op(partner), time);
    }

    void setInput(OpIndex op) {
        const Transfer transfer = inputOf(graph_, op);
        const Rank from = graph_.rank(graph_.producers(op).stage);
        times_.setTransfer(transfer.payload, transfer.microbatch, transfer.stage, transfer.sequence,
                           faults_.arrival(from, step_, table_.transfer(from, transfer)));
    }

    const OpGraph& graph_;
    const CostTable& table_;
    RankFaults faults_;
    Rank rank_;
    int step_;
    MeasuredTimes& times_;
};

} // namespace

Result<CostModel> faultyCosts(const Schedule& schedule, CostModel costs, std::span<const Fault> faults, int step) {
    BUBBLESCOPE_TRY(checkSimulated(faults));
    if (faults.empty()) return costs;
    const OpGraph graph(schedule);
    const CostTable table(schedule, costs);
    MeasuredTimes times = costs.measured ? *costs.measured : MeasuredTimes();
    for (int r = 0; r < schedule.pp; ++r)
        FaultyRank(graph, table, faults, Rank{r}, step, times).setTimes();
    costs.measured = std::make_shared<MeasuredTimes>(std::move(times));
    return costs;
}

Result<FaultySteps> simulateFaulty(const Schedule& schedule, const CostModel& costs, std::span<const Fault> faults,
                                   int steps, const DispatchPolicy& policy) {
    std::vector<TimeNs> walls;
    TimeNs sum{0};
    for (int step = 0; step < steps; ++step) {
        BUBBLESCOPE_ASSIGN(const CostModel faulty, faultyCosts(schedule, costs, faults, step));
        Schedule order = schedule;
        if (policy.dynamic()) {
            BUBBLESCOPE_ASSIGN(order, dispatched(schedule, faulty, policy));
        }
        BUBBLESCOPE_ASSIGN(const StepTimeline ran, simulate(order, faulty));
        walls.push_back(ran.wall());
        sum += ran.wall();
    }
    if (walls.empty()) return FaultySteps{};
    const auto late = static_cast<std::ptrdiff_t>((walls.size() * 95 + 99) / 100 - 1);
    std::ranges::nth_element(walls, walls.begin() + late);
    return FaultySteps{sum / steps, walls[static_cast<std::size_t>(late)]};
}

} // namespace bubblescope::runtime
