#include "core/optimize/partition/step_evaluator.h"

#include "core/graph/unit_graph.h"
#include "core/graph/validate.h"

#include <algorithm>

namespace bubblescope {
namespace {

std::array<std::uint8_t, 3> countsOf(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return {1, 0, 0};
    case OpKind::Backward: return {0, 1, 1};
    case OpKind::BackwardInput: return {0, 1, 0};
    case OpKind::BackwardWeight: return {0, 0, 1};
    case OpKind::Optimizer: break;
    }
    return {0, 0, 0};
}

} // namespace

Result<StepEvaluator> StepEvaluator::make(const Schedule& schedule, std::int64_t comm_ns) {
    BUBBLESCOPE_ASSIGN(const OpGraph ops, completeGraph(schedule));
    UnitGraph graph = unitGraph(ops);
    if (!graph.blocked.empty()) return whyNotExecutable(schedule, SendMode::Asynchronous);
    StepEvaluator evaluator;
    evaluator.stages_ = static_cast<std::size_t>(schedule.stages());
    evaluator.comm_ = TimeNs{comm_ns};
    evaluator.work_.resize(graph.op.size());
    evaluator.crosses_.assign(graph.tasks.edges(), 0);
    for (std::size_t unit = 0; unit < graph.op.size(); ++unit) {
        Work& work = evaluator.work_[unit];
        const std::array<OpIndex, 2> halves{graph.op[unit], ops.partner(graph.op[unit])};
        for (std::size_t half = 0; half < 2; ++half) {
            if (halves[half] == kNoOp) continue;
            work.stage[half] = ops.stage(halves[half]).value;
            work.counts[half] = countsOf(ops.op(halves[half]).kind);
            if (ops.receives(halves[half])) evaluator.crosses_[graph.tasks.firstEdge(unit) + 1 + half] = 1;
        }
    }
    evaluator.units_ = std::move(graph.tasks);
    evaluator.ends_ = TaskTimes(evaluator.work_.size());
    return evaluator;
}

TimeNs StepEvaluator::duration(const Work& work, const std::vector<StageDurations>& times) {
    std::int64_t sum = 0;
    for (std::size_t half = 0; half < 2; ++half) {
        const StageDurations& stage = times[static_cast<std::size_t>(work.stage[half])];
        for (std::size_t kind = 0; kind < 3; ++kind)
            sum += work.counts[half][kind] * stage[kind];
    }
    return TimeNs{sum};
}

std::int64_t StepEvaluator::length(const std::vector<StageDurations>& times) {
    TimeNs last{0};
    forwardPass(
        units_, ends_, [this](const EdgePlace& edge) { return crosses_[edge.edge] * comm_; },
        [&](TaskIndex unit, TimeNs ready) {
            const TimeNs end = ready + duration(work_[static_cast<std::size_t>(unit)], times);
            last = std::max(last, end);
            return end;
        });
    return last.count();
}

StepPath StepEvaluator::longestPath() const {
    StepPath path;
    path.counts.resize(stages_);
    if (ends_.size() == 0) return path;
    auto unit = static_cast<TaskIndex>(std::ranges::max_element(ends_.tasks()) - ends_.tasks().begin());
    while (unit != kNoTask) {
        const auto place = static_cast<std::size_t>(unit);
        const Work& work = work_[place];
        for (std::size_t half = 0; half < 2; ++half) {
            for (std::size_t kind = 0; kind < 3; ++kind)
                path.counts[static_cast<std::size_t>(work.stage[half])][kind] += work.counts[half][kind];
        }
        // If several arrive last, follow the one on the same rank: paths that stay on one rank bound it best.
        const LatestPredecessor before = latestPredecessor(
            units_, place, [this](TaskIndex from) { return ends_[from]; },
            [this](const EdgePlace& edge) { return crosses_[edge.edge] * comm_; });
        if (before.task != kNoTask) path.transfers += crosses_[units_.firstEdge(place) + before.slot];
        unit = before.task;
    }
    return path;
}

} // namespace bubblescope
