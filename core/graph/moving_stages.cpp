#include "core/graph/moving_stages.h"

#include "core/base/field.h"
#include "core/graph/longest_path.h"
#include "core/schedule/moving_names.h"
#include "core/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace bubblescope {
namespace {

constexpr std::int64_t kMaxOps = 50'000'000;

Status checkSizes(const MovingStages& stages) {
    if (stages.pp < 1 || stages.microbatches < 1 || stages.forward_stages < 1 || stages.backward_stages < 1)
        return usageError("ranks, micro-batches and stages must be at least 1",
                          fmt::format("specify {} and {}", Field("pp").is("P"), Field("microbatches").is("M")));
    if (std::int64_t{stages.positions()} * stages.microbatches > kMaxOps)
        return usageError(
            fmt::format("{} ops do not fit into memory", std::int64_t{stages.positions()} * stages.microbatches),
            fmt::format("reduce {} or {}", Field("microbatches"), Field("vpp")));
    return {};
}

/// The tasks of a step: for each position, the load of its weights and then its micro-batches.
class MovingGraph {
public:
    explicit MovingGraph(const MovingStages& stages) : stages_(stages) {
        for (int position = 0; position < stages.positions(); ++position) {
            addRow(before(position, 1, 0), before(position, 2, stages.microbatches));
            for (int m = 1; m <= stages.microbatches; ++m) {
                const TaskIndex previous = m > 1 ? taskOf(position, m - 1) : before(position, 1, stages.microbatches);
                addRow(previous, position > 0 ? taskOf(position - 1, m) : kNoTask, taskOf(position, 0));
            }
        }
    }

    /// `task` 0 is the load, m the m-th micro-batch.
    [[nodiscard]] TaskIndex taskOf(int position, int task) const {
        return static_cast<TaskIndex>(position * (stages_.microbatches + 1) + task);
    }

    [[nodiscard]] TaskTimes ends(const MovingTimes& times) const {
        const TaskGraph graph(3, rows_);
        TaskTimes ends(graph.size());
        const TimeNs transfer = stages_.pp > 1 ? times.transfer : TimeNs{0};
        const auto isLoad = [&](TaskIndex task) { return task % (stages_.microbatches + 1) == 0; };
        forwardPass(
            graph, ends,
            [&](const EdgePlace& edge) { // only the second predecessor of an op is on another rank
                return edge.slot == 1 && edge.from != kNoTask && !isLoad(edge.task) ? transfer : TimeNs{0};
            },
            [&](TaskIndex task, TimeNs ready) {
                if (isLoad(task)) return ready + times.weights;
                return ready +
                       (task / (stages_.microbatches + 1) < stages_.forward_stages ? times.forward : times.backward);
            });
        return ends;
    }

private:
    void addRow(TaskIndex a, TaskIndex b, TaskIndex c = kNoTask) { rows_.insert(rows_.end(), {a, b, c}); }
    /// A task in an earlier visit of the rank, `visits` visits before this one.
    [[nodiscard]] TaskIndex before(int position, int visits, int task) const {
        const int earlier = position - visits * stages_.pp;
        return earlier < 0 ? kNoTask : taskOf(earlier, task);
    }

    const MovingStages& stages_;
    std::vector<TaskIndex> rows_;
};

} // namespace

Op MovingStages::opOf(int position, Microbatch microbatch) const {
    if (position < forward_stages) return {OpKind::Forward, microbatch, Chunk{position}};
    return {OpKind::Backward, microbatch, Chunk{positions() - 1 - position}};
}

Result<Schedule> movingOrder(const MovingStages& stages) {
    BUBBLESCOPE_TRY(checkSizes(stages));
    Schedule order;
    order.name = kRoundPipe;
    order.placement = Placement::Moving;
    order.pp = stages.pp;
    order.microbatches = stages.microbatches;
    order.vpp = std::max(stages.forward_stages, stages.backward_stages);
    order.ranks.resize(static_cast<std::size_t>(stages.pp));
    for (int position = 0; position < stages.positions(); ++position) {
        for (int m = 0; m < stages.microbatches; ++m)
            order.ranks[stages.rankOf(position).index()].push_back(stages.opOf(position, Microbatch{m}));
    }
    return order;
}

Result<StepTimeline> simulateMoving(const MovingStages& stages, const MovingTimes& times) {
    BUBBLESCOPE_TRY(checkSizes(stages));
    const auto longest = std::max({times.forward, times.backward, times.weights});
    const auto tasks = std::int64_t{stages.positions()} * (stages.microbatches + 1);
    if (longest + times.transfer > TimeNs::max() / tasks)
        return usageError("the times are too large for 64-bit nanoseconds");
    const MovingGraph graph(stages);
    const TaskTimes ends = graph.ends(times);
    StepTimeline step;
    step.placement = Placement::Moving;
    step.pp = stages.pp;
    step.microbatches = stages.microbatches;
    step.vpp = std::max(stages.forward_stages, stages.backward_stages);
    step.ranks.resize(static_cast<std::size_t>(stages.pp));
    step.comm.resize(static_cast<std::size_t>(stages.pp));
    for (int position = 0; position < stages.positions(); ++position) {
        const TimeNs length = position < stages.forward_stages ? times.forward : times.backward;
        for (int m = 0; m < stages.microbatches; ++m) {
            const TimeNs end = ends[graph.taskOf(position, m + 1)];
            step.ranks[stages.rankOf(position).index()].push_back(
                {stages.opOf(position, Microbatch{m}), end - length, end});
            step.end = std::max(step.end, end);
        }
    }
    return step; // the step starts at 0, with the loads of the first weights
}

Result<MovingForm> movingForm(const MovingStages& stages, const MovingTimes& times) {
    BUBBLESCOPE_TRY(checkSizes(stages));
    const TimeNs visit = stages.microbatches * times.forward;
    if (times.forward != times.backward || times.weights > visit)
        return usageError(
            "the closed form of roundpipe holds only if forward and backward stages take the same time and load their "
            "weights within one visit",
            "split the backward into smaller stages, as RoundPipe does");
    const TimeNs hop = times.forward + (stages.pp > 1 ? times.transfer : TimeNs{0});
    const TimeNs round = std::max(visit, stages.pp * hop);
    const int last = stages.positions() - 1;
    return MovingForm{times.weights + last / stages.pp * round + last % stages.pp * hop + visit, round - visit};
}

} // namespace bubblescope
