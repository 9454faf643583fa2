#include "core/graph/simulate.h"

#include "core/graph/cost_table.h"
#include "core/graph/rendezvous.h"
#include "core/graph/rendezvous_simulation.h"
#include "core/graph/timeline_recorder.h"
#include "core/graph/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace bubblescope {
namespace {

/// Sends that cost the rank nothing, so that each op's times follow from those before it.
class AsyncSimulation {
public:
    AsyncSimulation(const CostTable& costs, const OpGraph& graph, bool on_compute_stream, TimelineRecorder& recorder)
        : costs_(costs), graph_(graph), on_compute_stream_(on_compute_stream), recorder_(recorder),
          free_(static_cast<std::size_t>(graph.rankCount())), stream_free_(costs.streamCount()),
          ready_(static_cast<std::size_t>(graph.size())) {}

    void execute(OpIndex op, OpIndex partner) {
        const Rank rank = graph_.rank(op);
        TimeNs& free = free_[rank.index()];
        TimeNs start = std::max(free, inputReady(op));
        if (partner != kNoOp) start = std::max(start, inputReady(partner));
        const TimeNs end = start + costs_.unit(graph_, op, partner);
        place(op, rank, free, start, end);
        // The transfers of a pair start together: neither waits for the other on its stream.
        const Sending first = plan(op, rank, end);
        const Sending second = partner == kNoOp ? Sending{} : plan(partner, rank, end);
        TimeNs sent = send(op, rank, first);
        if (partner != kNoOp) {
            place(partner, rank, free, start, end);
            sent = std::max(sent, send(partner, rank, second));
        }
        free = on_compute_stream_ ? sent : end;
    }

private:
    [[nodiscard]] TimeNs inputReady(OpIndex op) const {
        const OpIndex producer = graph_.producers(op).stage;
        return producer < 0 ? TimeNs{0} : ready_[static_cast<std::size_t>(producer)];
    }

    void place(OpIndex index, Rank rank, TimeNs free, TimeNs start, TimeNs end) {
        const Op& op = graph_.op(index);
        recorder_.op(rank, op, start, end);
        if (start == free || !graph_.receives(index)) return;
        recorder_.wait(rank, inputOf(graph_, index), graph_.rank(graph_.producers(index).stage), free, start);
    }

    struct Sending {
        Transfer out;
        TimeNs start{0};
        int stream = -1;
        bool leaves = false;
    };

    [[nodiscard]] Sending plan(OpIndex index, Rank rank, TimeNs end) const {
        Sending sending;
        sending.start = end;
        sending.leaves = costs_.leaves(graph_, index, sending.out);
        if (!sending.leaves) return sending;
        sending.stream = costs_.stream(rank, sending.out);
        if (sending.stream >= 0) sending.start = std::max(end, stream_free_[static_cast<std::size_t>(sending.stream)]);
        return sending;
    }

    /// Hands on what an op made; returns when the next stage has it.
    TimeNs send(OpIndex index, Rank rank, const Sending& sending) {
        TimeNs& ready = ready_[static_cast<std::size_t>(index)];
        ready = sending.start;
        if (!sending.leaves) return ready;
        ready += costs_.transfer(rank, sending.out);
        recorder_.transfer(rank, sending.out, sending.start, ready);
        if (sending.stream >= 0) {
            TimeNs& stream_free = stream_free_[static_cast<std::size_t>(sending.stream)];
            stream_free = std::max(stream_free, ready);
        }
        return ready;
    }

    const CostTable& costs_;
    const OpGraph& graph_;
    bool on_compute_stream_;
    TimelineRecorder& recorder_;
    std::vector<TimeNs> free_;        ///< per rank
    std::vector<TimeNs> stream_free_; ///< per communication stream
    std::vector<TimeNs> ready_;       ///< per op: when the next stage has what it made
};

} // namespace

Result<StepTimeline> simulate(const Schedule& schedule, const CostModel& costs) {
    if (!costs.stages.empty() && costs.stages.size() != static_cast<std::size_t>(schedule.stages())) {
        return usageError(
            fmt::format("times are given for {} stages, the schedule has {}", costs.stages.size(), schedule.stages()),
            "give one set of times for every stage");
    }
    BUBBLESCOPE_ASSIGN(const OpGraph graph, completeGraph(schedule));
    const CostTable table(schedule, costs);
    // Each op puts off the end of the step by its own time and a transfer's at most.
    if (table.longest().count() > std::numeric_limits<std::int64_t>::max() / 4 / std::max(graph.size(), 1)) {
        return usageError(
            fmt::format("{} ops of up to {} do not fit into a timeline", graph.size(), formatTime(table.longest())),
            "give shorter times");
    }
    TimelineRecorder recorder(schedule);
    const TransferModel& transfers = costs.transfers;
    if (transfers.sends == SendMode::Asynchronous) {
        AsyncSimulation simulation(table, graph, transfers.on_compute_stream, recorder);
        const auto blocked = visitInOrder(graph, [&](OpIndex op, OpIndex partner) { simulation.execute(op, partner); });
        if (!blocked.empty()) return whyNotExecutable(schedule, transfers.sends);
    } else {
        if (!visitInOrder(graph, [](OpIndex, OpIndex) {}).empty()) return whyNotExecutable(schedule, transfers.sends);
        RendezvousSimulation simulation(table, graph, transfers.on_compute_stream, recorder);
        if (!runRendezvous(graph, transfers.sends, simulation).empty()) {
            return whyNotExecutable(schedule, transfers.sends);
        }
    }
    return recorder.take();
}

} // namespace bubblescope
