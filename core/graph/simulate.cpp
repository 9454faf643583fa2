#include "core/graph/simulate.h"

#include "core/graph/cost_table.h"
#include "core/graph/rendezvous.h"
#include "core/graph/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace bubblescope {
namespace {

/// Puts a simulated step together from the ops and transfers as they become known.
class TimelineRecorder {
public:
    explicit TimelineRecorder(const Schedule& schedule) {
        step_.pp = schedule.pp;
        step_.microbatches = schedule.microbatches;
        step_.vpp = schedule.vpp;
        step_.placement = schedule.placement;
        step_.ranks.resize(schedule.ranks.size());
        step_.comm.resize(schedule.ranks.size());
        for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
            step_.ranks[r].reserve(schedule.ranks[r].size());
            // A send, a receive and a wait an op at the most; memory that is not used is not touched either.
            if (schedule.pp > 1) step_.comm[r].reserve(3 * schedule.ranks[r].size());
        }
    }

    void op(Rank rank, const Op& op, TimeNs start, TimeNs end) {
        step_.ranks[rank.index()].push_back({op, start, end, TimeNs{0}});
    }

    /// Both sides of a transfer.
    void transfer(Rank from, const Transfer& what, TimeNs start, TimeNs end) {
        span(CommKind::Send, from, what, what.to, start, end);
        span(CommKind::Receive, what.to, what, from, start, end);
    }

    /// A rank's wait for a transfer from or to `peer`.
    void wait(Rank rank, const Transfer& what, Rank peer, TimeNs start, TimeNs end) {
        span(CommKind::Wait, rank, what, peer, start, end);
    }

    [[nodiscard]] StepTimeline take() {
        const auto earlier = [](const CommSpan& a, const CommSpan& b) { return a.start < b.start; };
        for (auto& spans : step_.comm) {
            if (!std::ranges::is_sorted(spans, earlier)) std::ranges::stable_sort(spans, earlier);
        }
        step_.fitWindow();
        return std::move(step_);
    }

private:
    void span(CommKind kind, Rank rank, const Transfer& what, Rank peer, TimeNs start, TimeNs end) {
        CommSpan& span = step_.comm[rank.index()].emplace_back();
        span.kind = kind;
        span.payload = what.payload;
        span.microbatch = what.microbatch;
        span.stage = what.stage;
        span.sequence = what.sequence;
        span.peer = peer;
        span.start = start;
        span.end = end;
    }

    StepTimeline step_;
};

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

/// The clock beside runRendezvous(): when each rank runs and waits where sends block, as simulate.h states it.
class RendezvousSimulation final : public RendezvousListener {
public:
    RendezvousSimulation(const CostTable& costs, const OpGraph& graph, bool on_compute_stream,
                         TimelineRecorder& recorder);

    void run(OpIndex op, OpIndex partner) override;
    void post(Rank rank, const Endpoint& end) override;
    void finish(Rank rank, std::span<const Endpoint> group) override;

private:
    struct Posting {
        TimeNs latest{0};      ///< by the later of the two ranks so far
        TimeNs stream_free{0}; ///< of what its sender sent before
    };

    const CostTable& costs_;
    const OpGraph& graph_;
    bool on_compute_stream_;
    TimelineRecorder& recorder_;
    std::vector<TimeNs> free_;        ///< per rank: when its next part can begin
    std::vector<TimeNs> stream_free_; ///< per communication stream
    std::vector<Posting> postings_;   ///< of a transfer, by the op it feeds
};

RendezvousSimulation::RendezvousSimulation(const CostTable& costs, const OpGraph& graph, bool on_compute_stream,
                                           TimelineRecorder& recorder)
    : costs_(costs), graph_(graph), on_compute_stream_(on_compute_stream), recorder_(recorder),
      free_(static_cast<std::size_t>(graph.rankCount())), stream_free_(costs.streamCount()),
      postings_(static_cast<std::size_t>(graph.size())) {}

void RendezvousSimulation::run(OpIndex op, OpIndex partner) {
    TimeNs& free = free_[graph_.rank(op).index()];
    const TimeNs end = free + costs_.unit(graph_, op, partner);
    for (const OpIndex half : {op, partner}) {
        if (half != kNoOp) recorder_.op(graph_.rank(half), graph_.op(half), free, end);
    }
    free = end;
}

void RendezvousSimulation::post(Rank rank, const Endpoint& end) {
    Posting& posting = postings_[static_cast<std::size_t>(end.consumer)];
    posting.latest = std::max(posting.latest, free_[rank.index()]);
    if (!end.send) return;
    const int stream = costs_.stream(rank, inputOf(graph_, end.consumer));
    if (stream >= 0) posting.stream_free = stream_free_[static_cast<std::size_t>(stream)];
}

void RendezvousSimulation::finish(Rank rank, std::span<const Endpoint> group) {
    const TimeNs begin = free_[rank.index()];
    TimeNs& free = free_[rank.index()];
    for (const Endpoint& side : group) {
        const Posting& posting = postings_[static_cast<std::size_t>(side.consumer)];
        const Rank from = graph_.rank(graph_.producers(side.consumer).stage);
        const Transfer transfer = inputOf(graph_, side.consumer);
        const TimeNs start = std::max(posting.latest, posting.stream_free);
        const TimeNs end = start + costs_.transfer(from, transfer);
        const TimeNs leave = !side.send || on_compute_stream_ ? end : start;
        free = std::max(free, leave);
        if (leave > begin) recorder_.wait(rank, transfer, side.send ? transfer.to : from, begin, leave);
        if (!side.send) continue;
        recorder_.transfer(from, transfer, start, end);
        const int stream = costs_.stream(from, transfer);
        if (stream < 0) continue;
        TimeNs& stream_free = stream_free_[static_cast<std::size_t>(stream)];
        stream_free = std::max(stream_free, end);
    }
}

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
