#include "core/graph/simulate.h"

#include "core/graph/cost_table.h"
#include "core/graph/longest_path.h"
#include "core/graph/rendezvous.h"
#include "core/graph/timeline_recorder.h"
#include "core/graph/validate.h"
#include "core/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace bubblescope {
namespace {

// A walk visits a schedule's tasks in an order in which all of them can run, as walkedPass() requires, and defines the
// dependencies. SimulatedTimes defines and records the time of each task.

/// The numbers under which the times of tasks are stored.
struct TaskNumbers {
    TaskIndex ops = 0;
    TaskIndex ranks = 0;
    TaskIndex streams = 0;

    /// The number of a rank: stores when the rank is free for its next task. Numbers of ops come first, equal to their
    /// OpIndex.
    [[nodiscard]] TaskIndex rank(Rank rank) const { return ops + rank.value; }
    /// The number of a communication stream: stores when the stream is free. kNoTask for -1.
    [[nodiscard]] TaskIndex stream(int stream) const { return stream < 0 ? kNoTask : ops + ranks + stream; }
    /// A second number per op.
    [[nodiscard]] TaskIndex second(OpIndex op) const { return ops + ranks + streams + op; }
};

/// An op, or an overlapped pair.
struct UnitTask {
    TaskIndex number = kNoTask; ///< number of its rank
    Rank rank;
    OpIndex op = kNoOp;
    OpIndex partner = kNoOp;
};

/// The output of an op on its way to the next stage.
struct OutputTask {
    TaskIndex number = kNoTask; ///< number of the op
    Rank from;
    bool leaves = false; ///< goes to another rank
    Transfer transfer{}; ///< if it leaves
    TaskIndex stream = kNoTask;
};

/// A transfer that both ranks have posted, as seen by one of them.
struct SideTask {
    TaskIndex number = kNoTask; ///< second number of the receiving op
    Rank rank;                  ///< the rank that it blocks
    Rank from;
    Transfer transfer;
    bool send = false;
    bool at_end = false; ///< true if the transfer blocks the rank until it ends, false if until it starts
};

/// A task that takes no time.
struct JoinTask {
    TaskIndex number = kNoTask;
};

/// The tasks of a schedule with asynchronous sends. An op's number stores the time at which the next stage has its
/// output.
class AsynchronousWalk {
public:
    AsynchronousWalk(const OpGraph& graph, const CostTable& costs, const TaskNumbers& numbers, bool on_compute_stream)
        : graph_(graph), costs_(costs), numbers_(numbers), on_compute_stream_(on_compute_stream) {}

    /// Returns the blocked ops, as visitInOrder() does.
    template <class Visit>
    std::vector<OpIndex> operator()(Visit visit) const {
        return visitInOrder(graph_, [this, &visit](OpIndex op, OpIndex partner) {
            const Rank rank = graph_.rank(op);
            const TaskIndex free = numbers_.rank(rank);
            if (partner == kNoOp) {
                if (graph_.joins()) join(op, visit);
                visit(UnitTask{free, rank, op, partner}, free, input(op));
                const OutputTask output = outputOf(op, rank);
                const OutputTask other = joinedOutput(op, output);
                if (other.leaves) visit(other, free, other.stream);
                visit(output, free, output.stream);
                if (other.leaves) occupy(other, free, visit);
                occupy(output, free, visit);
            } else {
                visit(UnitTask{free, rank, op, partner}, free, input(op), input(partner));
                // The transfers of a pair start together, so neither waits for the other on its stream.
                const OutputTask first = outputOf(op, rank);
                const OutputTask second = outputOf(partner, rank);
                visit(first, free, first.stream);
                visit(second, free, second.stream);
                occupy(first, free, visit);
                occupy(second, free, visit);
            }
        });
    }

private:
    [[nodiscard]] TaskIndex input(OpIndex op) const { return feedsEncoder(op) ? op : graph_.producers(op).stage; }

    /// True for an op whose gradient comes from the trunk, which also sends one to the second encoder. Its own number
    /// stores the arrival until it runs.
    [[nodiscard]] bool feedsEncoder(OpIndex op) const {
        if (!graph_.joins()) return false;
        const OpIndex producer = graph_.producers(op).stage;
        return producer >= 0 && graph_.joinedConsumer(producer) == op;
    }

    /// Makes the input of an op wait for the output of the first encoder, too.
    template <class Visit>
    void join(OpIndex op, Visit& visit) const {
        const OpIndex other = graph_.joinedInput(op);
        if (other != kNoOp) visit(JoinTask{input(op)}, input(op), other);
    }

    /// The gradient for the first encoder; it leaves together with `output`.
    [[nodiscard]] OutputTask joinedOutput(OpIndex op, const OutputTask& output) const {
        OutputTask other = output;
        const OpIndex consumer = graph_.joins() ? graph_.joinedConsumer(op) : kNoOp;
        other.leaves = consumer != kNoOp;
        if (!other.leaves) return other;
        other.number = consumer;
        other.transfer.stage = graph_.stage(consumer);
        other.transfer.to = graph_.rank(consumer);
        other.stream = numbers_.stream(costs_.stream(output.from, other.transfer));
        return other;
    }

    [[nodiscard]] OutputTask outputOf(OpIndex op, Rank rank) const {
        OutputTask output{op, rank};
        output.leaves = costs_.leaves(graph_, op, output.transfer);
        if (output.leaves) output.stream = numbers_.stream(costs_.stream(rank, output.transfer));
        return output;
    }

    /// Makes the next task on the stream, and with `on_compute_stream` on the rank, wait for the output.
    template <class Visit>
    void occupy(const OutputTask& output, TaskIndex rank, Visit& visit) const {
        if (output.stream != kNoTask) visit(JoinTask{output.stream}, output.stream, output.number);
        if (on_compute_stream_) visit(JoinTask{rank}, rank, output.number);
    }

    const OpGraph& graph_;
    const CostTable& costs_;
    const TaskNumbers& numbers_;
    bool on_compute_stream_;
};

/// The tasks of a schedule whose sends wait for their receives. For a transfer, the number of the op that it feeds
/// stores its start, and the second number its end.
class RendezvousWalk {
public:
    RendezvousWalk(const OpGraph& graph, const CostTable& costs, const TaskNumbers& numbers,
                   const TransferModel& transfers)
        : graph_(graph), costs_(costs), numbers_(numbers), transfers_(transfers),
          queues_(transfers.streams != CommStreams::Unlimited) {}

    /// Returns the blocked endpoints, as runRendezvous() does.
    template <class Visit>
    std::vector<Endpoint> operator()(Visit visit) const {
        Tasks<Visit> tasks{*this, visit};
        return runRendezvous(graph_, transfers_.sends, tasks);
    }

private:
    template <class Visit>
    struct Tasks {
        const RendezvousWalk& walk;
        Visit& visit;

        void run(OpIndex op, OpIndex partner) {
            const Rank rank = walk.graph_.rank(op);
            const TaskIndex free = walk.numbers_.rank(rank);
            visit(UnitTask{free, rank, op, partner}, free);
        }
        void post(Rank rank, const Endpoint& end) {
            const TaskIndex start = end.consumer;
            const TaskIndex free = walk.numbers_.rank(rank);
            if (end.send && walk.queues_) {
                visit(JoinTask{start}, start, free, walk.streamOf(rank, inputOf(walk.graph_, start)));
            } else {
                visit(JoinTask{start}, start, free);
            }
        }
        void finish(Rank rank, std::span<const Endpoint> group) {
            for (const Endpoint& end : group) {
                const TaskIndex over = walk.numbers_.second(end.consumer);
                const Transfer transfer = inputOf(walk.graph_, end.consumer);
                const Rank from = walk.senderOf(end);
                visit(SideTask{over, rank, from, transfer, end.send, walk.atEnd(end)}, end.consumer);
                if (!end.send || !walk.queues_) continue;
                const TaskIndex stream = walk.streamOf(from, transfer);
                visit(JoinTask{stream}, stream, over);
            }
            const TaskIndex free = walk.numbers_.rank(rank);
            for (const Endpoint& end : group)
                visit(JoinTask{free}, free, walk.atEnd(end) ? walk.numbers_.second(end.consumer) : end.consumer);
        }
    };

    [[nodiscard]] bool atEnd(const Endpoint& end) const { return !end.send || transfers_.on_compute_stream; }
    [[nodiscard]] Rank senderOf(const Endpoint& end) const { return graph_.rank(graph_.producers(end.consumer).stage); }
    [[nodiscard]] TaskIndex streamOf(Rank from, const Transfer& transfer) const {
        return numbers_.stream(costs_.stream(from, transfer));
    }

    const OpGraph& graph_;
    const CostTable& costs_;
    const TaskNumbers& numbers_;
    const TransferModel& transfers_;
    bool queues_; ///< transfers wait for streams
};

/// The finish() function of both walks.
class SimulatedTimes {
public:
    SimulatedTimes(const CostTable& costs, const OpGraph& graph, const TaskNumbers& numbers, const TaskTimes& times,
                   TimelineRecorder& recorder)
        : costs_(costs), graph_(graph), numbers_(numbers), times_(times), recorder_(recorder) {}

    TimeNs operator()(const UnitTask& unit, TimeNs start) {
        const TimeNs free = times_[unit.number];
        const TimeNs end = start + costs_.unit(graph_, unit.op, unit.partner);
        record(unit.op, unit.rank, free, start, end);
        if (unit.partner != kNoOp) record(unit.partner, unit.rank, free, start, end);
        return end;
    }

    TimeNs operator()(const OutputTask& output, TimeNs start) {
        if (!output.leaves) return start;
        const TimeNs end = start + costs_.transfer(output.from, output.transfer);
        recorder_.transfer(output.from, output.transfer, start, end);
        return end;
    }

    TimeNs operator()(const SideTask& side, TimeNs start) {
        const TimeNs end = start + costs_.transfer(side.from, side.transfer);
        const TimeNs free = times_[numbers_.rank(side.rank)];
        const TimeNs leave = side.at_end ? end : start;
        const Rank peer = side.send ? side.transfer.to : side.from;
        if (leave > free) recorder_.wait(side.rank, side.transfer, peer, free, leave);
        if (side.send) recorder_.transfer(side.from, side.transfer, start, end);
        return end;
    }

    TimeNs operator()(const JoinTask&, TimeNs ready) { return ready; }

private:
    void record(OpIndex index, Rank rank, TimeNs free, TimeNs start, TimeNs end) {
        recorder_.op(rank, graph_.op(index), start, end);
        if (start == free || !graph_.receives(index)) return;
        const OpIndex joined = graph_.joins() ? graph_.joinedInput(index) : kNoOp;
        Transfer input = inputOf(graph_, index);
        OpIndex latest = graph_.producers(index).stage;
        if (joined != kNoOp && times_[joined] == start) {
            latest = joined;
            input.stage.value = graph_.rankCount(); // as transferStages() defines it, with one stage per rank
        }
        recorder_.wait(rank, input, graph_.rank(latest), free, start);
    }

    const CostTable& costs_;
    const OpGraph& graph_;
    const TaskNumbers& numbers_;
    const TaskTimes& times_;
    TimelineRecorder& recorder_;
};

} // namespace

Result<StepTimeline> simulate(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(rejectMoving(schedule.placement, "this simulation"));
    if (!costs.stages.empty() && costs.stages.size() != static_cast<std::size_t>(schedule.stages())) {
        return usageError(fmt::format("times are given for {} stages, but the schedule has {}", costs.stages.size(),
                                      schedule.stages()),
                          "specify one set of times per stage");
    }
    BUBBLESCOPE_ASSIGN(const OpGraph graph, completeGraph(schedule));
    const CostTable table(schedule, costs);
    // Each op delays the end of the step by at most its own time and a transfer's.
    if (table.longest().count() > std::numeric_limits<std::int64_t>::max() / 4 / std::max(graph.size(), 1)) {
        return usageError(
            fmt::format("{} ops of up to {} are too long for a timeline", graph.size(), formatTime(table.longest())),
            "use shorter times");
    }
    const TransferModel& transfers = costs.transfers;
    const bool asynchronous = transfers.sends == SendMode::Asynchronous;
    if (!asynchronous && !visitInOrder(graph, [](OpIndex, OpIndex) {}).empty())
        return whyNotExecutable(schedule, transfers.sends);
    const TaskNumbers numbers{graph.size(), graph.rankCount(), static_cast<TaskIndex>(table.streamCount())};
    TimelineRecorder recorder(schedule);
    // Allocated after the recorder, whose memory remains in use: memory freed at the end of the heap returns to the
    // system.
    TaskTimes times(static_cast<std::size_t>(numbers.second(asynchronous ? 0 : graph.size())));
    SimulatedTimes finish(table, graph, numbers, times, recorder);
    const bool stuck =
        asynchronous
            ? !walkedPass(AsynchronousWalk(graph, table, numbers, transfers.on_compute_stream), times, finish).empty()
            : !walkedPass(RendezvousWalk(graph, table, numbers, transfers), times, finish).empty();
    if (stuck) return whyNotExecutable(schedule, transfers.sends);
    return recorder.take();
}

} // namespace bubblescope
