#include "core/graph/rendezvous_simulation.h"

#include <algorithm>

namespace bubblescope {

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

} // namespace bubblescope
