#include "core/diagnose/anomalies/step_replay.h"

#include "core/diagnose/clocks/transfers.h"
#include "core/simulate/simulate.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace bubblescope {
namespace {

std::optional<TimeNs> simulated(const Schedule& order, MeasuredTimes times) {
    CostModel costs;
    costs.measured = std::make_shared<MeasuredTimes>(std::move(times));
    const auto step = simulate(order, costs);
    if (!step.ok()) return std::nullopt;
    return step.value().wall();
}

} // namespace

std::optional<StepReplay> StepReplay::of(const StepTimeline& step) {
    StepReplay replay;
    replay.order_ = executedOrder(step);
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        for (const TimelineOp& op : step.ranks[r])
            replay.times_.setOp(Rank{r}, op.op, op.duration());
    }
    for (const MatchedTransfer& transfer : matchTransfers(step)) {
        const CommSpan& receive = *transfer.receive;
        const TimeNs begin = std::max(transfer.send->start, receive.start);
        replay.times_.setTransfer(receive.payload, receive.microbatch, receive.stage, receive.sequence,
                                  std::max(TimeNs{0}, receive.end - begin));
    }
    const auto wall = simulated(replay.order_, replay.times_);
    if (!wall) return std::nullopt;
    replay.makespan_ = *wall;
    return replay;
}

TimeNs StepReplay::saved(const std::function<void(MeasuredTimes&)>& change) const {
    MeasuredTimes changed = times_;
    change(changed);
    return makespan_ - simulated(order_, std::move(changed)).value_or(makespan_);
}

void changeOps(const StepTimeline& step, MeasuredTimes& times,
               const std::function<TimeNs(Rank, const TimelineOp&)>& change) {
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        for (const TimelineOp& op : step.ranks[r])
            times.setOp(Rank{r}, op.op, change(Rank{r}, op));
    }
}

} // namespace bubblescope
