#include "runtime/engine/rank_exchange.h"

#include "runtime/engine/run_ended.h"

#include <algorithm>
#include <utility>

namespace bubblescope::runtime {

std::optional<Arrival> RankExchange::receiveInput(const Op& op, bool holds) {
    const std::optional<CommTopology::Route> input = rank_.topology.inputOf(op);
    if (!input) return std::nullopt;
    Arrival arrival = receive(op, input->peer, input->key, holds);
    if (const auto joined = rank_.topology.joinedInputOf(op))
        arrival.joined = std::make_unique<Arrival>(receive(op, joined->peer, joined->key, holds));
    return arrival;
}

Arrival RankExchange::receive(const Op& op, Rank from, const MessageKey& key, bool holds) {
    rank_.report(Activity::Kind::Receiving, op, from);
    Taken taken = receiveOrLeave(rank_.transport, from, key);
    const TimeNs time = arrivalOf(taken, from, holds);
    return {.key = key,
            .tensor = std::move(taken.message.tensor),
            .from = from,
            .sent = taken.message.sent,
            .time = time,
            .local = from == rank_.transport.rank(),
            .digests = taken.message.digests,
            .late = taken.message.late};
}

TimeNs RankExchange::arrivalOf(const Taken& taken, Rank from, bool holds) {
    TimeNs time = taken.message.sent;
    if (from == rank_.transport.rank()) return time;
    if (rank_.clock.paced()) {
        time += rank_.config.times.comm;
    } else if (taken.waited) {
        time = std::max(time, rank_.parts.clock.now());
    }
    if (rank_.faults.none()) return time;
    const TimeNs delayed = rank_.faults.arrival(rank_.run.mesh.rankOf(from), rank_.step, time);
    if (holds && !rank_.clock.paced()) rank_.clock.sleepUntil(delayed);
    return delayed;
}

void RankExchange::sendOutput(const Op& op, Message message) {
    if (const auto joined = rank_.topology.joinedOutputOf(op)) send(op, *joined, message);
    if (const auto route = rank_.topology.outputOf(op)) send(op, *route, std::move(message));
}

void RankExchange::send(const Op& op, const CommTopology::Route& route, Message message) {
    const TimeNs end = message.sent;
    rank_.transport.send(route.peer, route.key, std::move(message));
    if (route.peer == rank_.transport.rank()) return;
    const TimeNs latency = rank_.config.times.comm;
    if (rank_.device) return rank_.device->sent(op, route, rank_.paced(latency).value_or(TimeNs{0}));
    // On a paced clock the transfer takes its latency; otherwise it lasts until the hand-over.
    const TimeNs sent = rank_.clock.paced() ? end + latency : std::max(end, rank_.parts.clock.now());
    rank_.record.sent(op, route, end, sent, rank_.step);
}

std::vector<Tensor> RankExchange::sumGradients(RankStages& stages, const Op& op, TimeNs& ready) {
    std::vector<Tensor> own;
    for (int c = 0; c < rank_.schedule.vpp; ++c) {
        const Stage stage = rank_.topology.stageOf(Chunk{c});
        own.push_back(stages.at(stage).takeGradient());
        for (const CommTopology::Copy& copy : rank_.topology.copiesOf(stage)) {
            if (copy.own) continue;
            Message message{own.back(), ready};
            if (rank_.hook) rank_.hook->sendingGradients(stage, message);
            if (rank_.device) message.tensor = rank_.device->handOver(std::move(message.tensor));
            rank_.transport.send(copy.holder, CommTopology::sumKey(stage, copy.stage), std::move(message));
        }
    }
    std::vector<Tensor> sums;
    for (int c = 0; c < rank_.schedule.vpp; ++c)
        sums.push_back(sumOfCopies(op, rank_.topology.stageOf(Chunk{c}), std::move(own[Chunk{c}.index()]), ready));
    return sums;
}

Tensor RankExchange::sumOfCopies(const Op& op, Stage stage, Tensor own, TimeNs& ready) {
    Tensor sum;
    bool first = true;
    for (const CommTopology::Copy& copy : rank_.topology.copiesOf(stage)) {
        Tensor part;
        if (copy.own) {
            part = std::move(own);
        } else {
            Arrival arrival = receive(op, copy.holder, CommTopology::sumKey(copy.stage, stage));
            ready = std::max(ready, arrival.time);
            if (rank_.device) rank_.device->receive(arrival, rank_.paced(rank_.config.times.comm));
            if (rank_.hook) rank_.hook->receivedGradients(stage, arrival);
            part = std::move(arrival.tensor);
        }
        if (std::exchange(first, false)) {
            sum = std::move(part);
        } else {
            sum += part;
        }
    }
    return sum;
}

TimeNs RankExchange::barrier(TimeNs time) {
    rank_.report(Activity::Kind::AtBarrier);
    return meetOrLeave(rank_.transport, time);
}

} // namespace bubblescope::runtime
