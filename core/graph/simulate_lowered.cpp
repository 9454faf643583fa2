#include "core/graph/simulate_lowered.h"

#include "core/graph/longest_path.h"
#include "core/graph/shared_compute.h"
#include "core/graph/timeline_recorder.h"
#include "core/graph/validate_lowered.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <compare>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// Payloads of unknown size count as large.
LoweredGraph::Eager eagerPayloads(const TransferModel& transfers, const QueueModel& queues) {
    const auto eager = [&](std::int64_t bytes) { return bytes > 0 && bytes <= queues.eager_bytes; };
    return {eager(transfers.activation_bytes), eager(transfers.gradient_bytes)};
}

class LoweredSimulation {
public:
    LoweredSimulation(const LoweredGraph& graph, const OpGraph& ops, const CostTable& costs, const WeightTimes& weights)
        : graph_(graph), ops_(ops), costs_(costs), weights_(weights),
          times_(static_cast<std::size_t>(graph.eventCount())) {}

    /// Returns false if the schedule hangs.
    bool run(int receive_share) {
        const auto edges = graph_.edges();
        const auto size = static_cast<std::size_t>(graph_.eventCount());
        const auto order = topologicalOrder(successorLists(size, edges), edges);
        if (order.size() != size) return false;
        if (receive_share > 0) {
            runInTime(receive_share, edges);
            return true;
        }
        const TaskLists predecessors = predecessorLists(size, edges);
        for (const TaskIndex event : order) {
            TimeNs ready{0};
            for (const TaskIndex before : predecessors[static_cast<std::size_t>(event)])
                ready = std::max(ready, times_[before]);
            times_[event] = finish(event, ready);
        }
        return true;
    }

    void record(TimelineRecorder& recorder) const {
        for (ActionIndex index = 0; index < graph_.actionCount(); ++index) {
            const Action& action = graph_.action(index);
            if (action.kind == ActionKind::Compute) recordOp(index, recorder);
            if (action.kind == ActionKind::Compute || isTransferWait(action.kind)) recordWait(index, recorder);
            if (isSend(action.kind) && graph_.otherEnd(index) != kNoAction)
                recorder.transfer(graph_.rank(index), transferOf(index), startOf(index),
                                  times_[graph_.ended(graph_.otherEnd(index))]);
        }
    }

    [[nodiscard]] std::vector<std::vector<ActionTime>> actionTimes() const {
        std::vector<std::vector<ActionTime>> result(graph_.lowered().actions.size());
        for (ActionIndex index = 0; index < graph_.actionCount(); ++index) {
            if (graph_.action(index).kind != ActionKind::Compute)
                result[graph_.rank(index).index()].push_back(actionTime(index));
        }
        return result;
    }

    [[nodiscard]] QueueTimes queueTimes(const Communicators& communicators) const {
        QueueTimes result;
        result.ranks.assign(graph_.lowered().actions.size(), TimeNs{0});
        std::map<std::int64_t, QueueTimes::Sum> sums;
        for (ActionIndex index = 0; index < graph_.actionCount(); ++index) {
            if (!isSend(graph_.action(index).kind) || graph_.otherEnd(index) == kNoAction) continue;
            QueuedTransfer queued = queuedTransfer(index);
            queued.communicator = communicators.nameOf(graph_.communicator(index), graph_.lowered().order.pp);
            QueueTimes::Sum& sum = sums[graph_.communicator(index)];
            sum.name = queued.communicator;
            ++sum.transfers;
            sum.wait += queued.wait();
            result.ranks[queued.from.index()] += queued.wait();
            if (queued.wait() > TimeNs{0}) result.queued.push_back(std::move(queued));
        }
        for (auto& [number, sum] : sums) {
            if (number >= 0) result.communicators.push_back(std::move(sum));
        }
        std::ranges::stable_sort(result.queued, std::greater(), &QueuedTransfer::wait);
        return result;
    }

private:
    struct Happening {
        TimeNs time;
        TaskIndex event;
        auto operator<=>(const Happening&) const = default;
    };

    /// Lets events happen in order of time, because pending receives slow down the ops that run meanwhile.
    void runInTime(int receive_share, std::span<const TaskEdge> edges) {
        const auto size = static_cast<std::size_t>(graph_.eventCount());
        const TaskLists successors = successorLists(size, edges);
        std::vector<std::int32_t> missing(size, 0);
        for (const TaskEdge& edge : edges)
            ++missing[static_cast<std::size_t>(edge.to)];
        std::vector<SharedCompute> computes(graph_.lowered().actions.size(), SharedCompute(receive_share));
        std::vector<ActionIndex> running(computes.size(), kNoAction);
        std::vector<bool> happened(size, false);
        std::priority_queue<Happening, std::vector<Happening>, std::greater<>> next;
        begins_.assign(static_cast<std::size_t>(graph_.actionCount()), TimeNs{0});
        const auto begin = [&](TaskIndex event, TimeNs now) {
            if (isCompute(event)) {
                SharedCompute& compute = computes[graph_.rank(event).index()];
                compute.start(now, durationOf(event));
                running[graph_.rank(event).index()] = event;
                begins_[static_cast<std::size_t>(event)] = now;
                times_[event] = compute.end();
            } else {
                times_[event] = finish(event, now);
            }
            next.push({times_[event], event});
        };
        const auto change = [&](ActionIndex receive, TimeNs now, int by) {
            const std::size_t rank = graph_.rank(receive).index();
            computes[rank].change(now, by);
            if (running[rank] == kNoAction || times_[running[rank]] == computes[rank].end()) return;
            times_[running[rank]] = computes[rank].end();
            next.push({times_[running[rank]], running[rank]});
        };
        for (std::size_t event = 0; event < size; ++event) {
            if (missing[event] == 0) begin(static_cast<TaskIndex>(event), TimeNs{0});
        }
        while (!next.empty()) {
            const auto [now, event] = next.top();
            next.pop();
            if (happened[static_cast<std::size_t>(event)] || times_[event] != now) continue; // it was rescheduled
            happened[static_cast<std::size_t>(event)] = true;
            if (isCompute(event)) running[graph_.rank(event).index()] = kNoAction;
            if (event >= 2 * graph_.actionCount()) {
                for (const ActionIndex end : graph_.call(event - 2 * graph_.actionCount()).ends)
                    if (isReceive(graph_.action(end).kind)) change(end, now, 1);
            } else if (event >= graph_.actionCount() && isReceive(graph_.action(event - graph_.actionCount()).kind)) {
                change(event - graph_.actionCount(), now, -1);
            }
            for (const TaskIndex after : successors[static_cast<std::size_t>(event)]) {
                if (--missing[static_cast<std::size_t>(after)] == 0) begin(after, now);
            }
        }
    }

    /// True for the event that an op or a RECOMPUTE has passed.
    [[nodiscard]] bool isCompute(TaskIndex event) const {
        if (event >= graph_.actionCount()) return false;
        const ActionKind kind = graph_.action(event).kind;
        return kind == ActionKind::Compute || kind == ActionKind::Recompute;
    }
    /// Start of an op or a RECOMPUTE.
    [[nodiscard]] TimeNs beginOf(ActionIndex index) const {
        return begins_.empty() ? times_[graph_.passed(index)] - durationOf(index)
                               : begins_[static_cast<std::size_t>(index)];
    }

    [[nodiscard]] OpIndex opOf(ActionIndex index) const {
        return ops_.firstOf(graph_.rank(index)) + graph_.action(index).op;
    }
    [[nodiscard]] TimeNs durationOf(ActionIndex index) const {
        const Action& action = graph_.action(index);
        if (action.kind == ActionKind::Recompute)
            return costs_.unit(ops_, ops_.find(OpKind::Forward, action.microbatch, action.stage, 0), kNoOp);
        return costs_.unit(ops_, opOf(index), ops_.partner(opOf(index)));
    }
    /// The transfer that a send or receive belongs to.
    [[nodiscard]] Transfer transferOf(ActionIndex end) const {
        const Action& action = graph_.action(end);
        const ActionIndex receive = isSend(action.kind) ? graph_.otherEnd(end) : end;
        return {payloadOf(action.kind), action.microbatch, 0, consumerOf(action), graph_.rank(receive)};
    }
    [[nodiscard]] TimeNs transferTime(ActionIndex end) const {
        const ActionIndex send = isSend(graph_.action(end).kind) ? end : graph_.otherEnd(end);
        return costs_.transfer(graph_.rank(send), transferOf(end));
    }
    [[nodiscard]] TimeNs headTime(ActionIndex end) const { return times_[graph_.atHead(graph_.callOf(end))]; }
    [[nodiscard]] TimeNs postTime(ActionIndex end) const {
        return times_[graph_.passed(graph_.call(graph_.callOf(end)).posted)];
    }
    [[nodiscard]] TimeNs startOf(ActionIndex send) const {
        return graph_.isEager(send) ? headTime(send) : std::max(headTime(send), headTime(graph_.otherEnd(send)));
    }

    [[nodiscard]] std::optional<TimeNs> sideTime(ActionIndex index) const {
        const Action& action = graph_.action(index);
        const auto copy = [](const SideTimes& times, std::int16_t peer) {
            return peer < 0 ? times.host_copy : times.peer_copy;
        };
        switch (action.kind) {
        case ActionKind::Unshard: return weights_.of(action.stage).unshard;
        case ActionKind::ReduceGrad: return weights_.of(action.stage).reduce_grad;
        case ActionKind::Offload: return copy(weights_.of(action.stage), action.peer);
        case ActionKind::Reload: {
            const ActionIndex offload = graph_.offloadOf(index);
            return copy(weights_.of(action.stage),
                        offload == kNoAction ? std::int16_t{-1} : graph_.action(offload).peer);
        }
        default: return std::nullopt;
        }
    }

    [[nodiscard]] TimeNs finish(TaskIndex event, TimeNs ready) const {
        const ActionIndex count = graph_.actionCount();
        if (event >= 2 * count) return ready;
        const ActionIndex index = event < count ? event : event - count;
        const ActionKind kind = graph_.action(index).kind;
        if (event < count) return isCompute(event) ? ready + durationOf(index) : ready;
        if (const auto time = sideTime(index)) return ready + *time;
        const ActionIndex other = graph_.otherEnd(index);
        if (!isTransfer(kind) || other == kNoAction || graph_.isEager(index)) return ready;
        if (graph_.isEager(other)) return std::max(headTime(index), headTime(other) + transferTime(index));
        return ready + transferTime(index);
    }

    void recordOp(ActionIndex index, TimelineRecorder& recorder) const {
        const OpIndex op = opOf(index);
        const TimeNs end = times_[graph_.passed(index)];
        TimeNs start = beginOf(index);
        if (recomputedBefore(index) && times_[graph_.passed(index - 1)] == start) start = beginOf(index - 1);
        recorder.op(graph_.rank(index), ops_.op(op), start, end);
        if (ops_.partner(op) != kNoOp) recorder.op(graph_.rank(index), ops_.op(ops_.partner(op)), start, end);
    }

    /// True if the action before a single backward recomputes its activations.
    [[nodiscard]] bool recomputedBefore(ActionIndex index) const {
        if (index == graph_.firstOf(graph_.rank(index))) return false;
        const Action& before = graph_.action(index - 1);
        const Op& op = ops_.op(opOf(index));
        return before.kind == ActionKind::Recompute && producesInputGradient(op.kind) &&
               before.microbatch == op.microbatch && ops_.partner(opOf(index)) == kNoOp &&
               before.stage == graph_.lowered().order.stageOf(graph_.rank(index), op.chunk);
    }

    [[nodiscard]] ActionTime actionTime(ActionIndex index) const {
        const Action& action = graph_.action(index);
        ActionTime time{action, times_[graph_.passed(index)], {}, times_[graph_.ended(index)]};
        time.start = time.posted;
        if (action.kind == ActionKind::Recompute) {
            time.posted = time.start = beginOf(index);
        } else if (isTransferWait(action.kind) || action.kind == ActionKind::WaitReduceGrad ||
                   action.kind == ActionKind::WaitOffload) {
            time.end = time.posted;
            const bool first = index == graph_.firstOf(graph_.rank(index));
            time.posted = time.start = first ? TimeNs{0} : times_[graph_.passed(index - 1)];
        } else if (isTransfer(action.kind)) {
            const ActionIndex other = graph_.otherEnd(index);
            time.start = other == kNoAction ? headTime(index) : startOf(isSend(action.kind) ? index : other);
            if (other != kNoAction && isSend(action.kind)) time.end = times_[graph_.ended(other)];
        } else {
            for (const ActionIndex before : {graph_.sideBefore(index), graph_.offloadOf(index)}) {
                if (before != kNoAction) time.start = std::max(time.start, times_[graph_.ended(before)]);
            }
        }
        time.posted = std::min(time.posted, time.start); // an eager transfer may start before its receive is posted
        return time;
    }

    /// Records the rank's wait for the last transfer to end among those it needed.
    void recordWait(ActionIndex index, TimelineRecorder& recorder) const {
        ActionIndex last = kNoAction;
        for (const ActionIndex input : graph_.inputs(index)) {
            const bool later = last == kNoAction || times_[graph_.ended(input)] > times_[graph_.ended(last)];
            if (later && graph_.otherEnd(input) != kNoAction) last = input;
        }
        if (last == kNoAction) return;
        const TimeNs free = index > graph_.firstOf(graph_.rank(index)) ? times_[graph_.passed(index - 1)] : TimeNs{0};
        const TimeNs until = times_[graph_.ended(last)];
        if (until > free)
            recorder.wait(graph_.rank(index), transferOf(last), graph_.rank(graph_.otherEnd(last)), free, until);
    }

    [[nodiscard]] QueuedTransfer queuedTransfer(ActionIndex send) const {
        const ActionIndex receive = graph_.otherEnd(send);
        const auto name = [this](ActionIndex index) {
            return actionName(graph_.lowered().order, graph_.rank(index), graph_.action(index));
        };
        QueuedTransfer queued;
        queued.from = graph_.rank(send);
        queued.to = graph_.rank(receive);
        queued.start = startOf(send);
        queued.ready = graph_.isEager(send) ? postTime(send) : std::max(postTime(send), postTime(receive));
        if (queued.wait() == TimeNs{0}) return queued;
        queued.send = name(send);
        queued.receive = name(receive);
        const ActionIndex held = headTime(send) == queued.start ? send : receive;
        const auto& before = graph_.call(graph_.call(graph_.callOf(held)).before).ends;
        const ActionIndex behind =
            *std::ranges::max_element(before, {}, [this](ActionIndex end) { return times_[graph_.ended(end)]; });
        queued.behind = name(behind);
        queued.behind_rank = graph_.rank(behind);
        return queued;
    }

    const LoweredGraph& graph_;
    const OpGraph& ops_;
    const CostTable& costs_;
    const WeightTimes& weights_;
    TaskTimes times_;
    std::vector<TimeNs> begins_; ///< starts of ops and RECOMPUTEs, by action; empty if they run at full speed
};

Error whyNot(const LoweredSchedule& lowered, const QueueModel& queues) {
    const auto problems = validateLowered(lowered, {}, queues).problems;
    assert(!problems.empty());
    return inputError("schedule " + lowered.order.name, problems.front().message.text(),
                      "`bubblescope validate` lists every problem");
}

} // namespace

Result<LoweredStep> simulateLowered(const LoweredSchedule& lowered, const CostModel& costs, const QueueModel& queues,
                                    const WeightTimes& weights) {
    BUBBLESCOPE_ASSIGN(const OpGraph ops, completeGraph(lowered.order));
    if (lowered.actions.size() != lowered.order.ranks.size() || (lowered.order.pp > 1 && !lowered.hasTransfers())) {
        return inputError("schedule " + lowered.order.name, "has no sends or receives",
                          "simulate the order alone, or add sends and receives by lowering it");
    }
    const bool deadlock = !visitInOrder(ops, [](OpIndex, OpIndex) {}).empty();
    if (deadlock || !checkActions(lowered).empty()) return whyNot(lowered, queues);
    const CostTable table(lowered.order, costs);
    const LoweredGraph graph(lowered, queues, eagerPayloads(costs.transfers, queues));
    TimeNs longest = table.longest();
    for (int s = 0; s < lowered.order.stages(); ++s) {
        const SideTimes& times = weights.of(Stage{s});
        longest = std::max({longest, times.unshard, times.reduce_grad, times.host_copy, times.peer_copy});
    }
    const std::int64_t slowest = queues.receive_share > 0 ? SharedCompute::kWhole : 1;
    if (longest.count() > std::numeric_limits<std::int64_t>::max() / 4 / slowest / std::max(graph.eventCount(), 1)) {
        return usageError(
            fmt::format("{} actions of up to {} are too long for a timeline", graph.actionCount(), formatTime(longest)),
            "use shorter times");
    }
    LoweredSimulation simulation(graph, ops, table, weights);
    if (!simulation.run(queues.receive_share)) return whyNot(lowered, queues);
    TimelineRecorder recorder(lowered.order);
    simulation.record(recorder);
    LoweredStep result{recorder.take(), simulation.actionTimes(), simulation.queueTimes(queues.communicators)};
    result.step.begin = TimeNs{0}; // gathering weights before the first op is part of the step
    return result;
}

} // namespace bubblescope
