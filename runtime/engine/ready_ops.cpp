#include "runtime/engine/ready_ops.h"

#include "runtime/engine/run_ended.h"

#include <algorithm>
#include <utility>

namespace bubblescope::runtime {

void ReadyOps::beginStep() {
    const CurrentOrder::Version& order = *rank_.order;
    // checkConfig() has rejected limits that the lists exceed.
    const int limit = inFlightLimit(order.schedule, order.dispatch).value();
    dispatch_.emplace(*order.graph, rank_.place.rank, order.dispatch.rule, limit);
    arrived_.clear();
    pending_.clear();
}

std::optional<std::size_t> ReadyOps::next() {
    if (rank_.device) {
        rank_.report(Activity::Kind::Draining);
        static_cast<void>(rank_.device->device().finishSoFar());
    }
    TimeNs now = rank_.now();
    for (;; now = wait()) {
        throwIfEnded(rank_.transport);
        poll();
        release(now);
        if (const std::optional<std::size_t> index = dispatch_->next()) {
            dispatch_->run(*index);
            return index;
        }
        if (dispatch_->done()) return std::nullopt;
    }
}

std::vector<std::optional<Arrival>> ReadyOps::take(std::size_t index) {
    std::vector<std::optional<Arrival>> inputs;
    for (std::size_t i = index; i < index + rank_.togetherFrom(index); ++i) {
        const auto found = arrived_.find(i);
        if (found == arrived_.end()) {
            inputs.emplace_back(std::nullopt);
            continue;
        }
        inputs.emplace_back(std::move(found->second));
        arrived_.erase(found);
    }
    return inputs;
}

void ReadyOps::poll() {
    for (const std::size_t unit : dispatch_->awaited()) {
        for (std::size_t i = unit; i < unit + rank_.togetherFrom(unit); ++i) {
            const Op& op = rank_.ops()[i];
            const std::optional<CommTopology::Route> input = rank_.topology.inputOf(op);
            if (!input || arrived_.contains(i) || !isThere(*input)) continue;
            arrived_.emplace(i, *exchange_.receiveInput(op, false));
            pending_.push_back(i);
        }
    }
}

bool ReadyOps::isThere(const CommTopology::Route& input) {
    if (!rank_.device) return rank_.transport.peek(input.peer, input.key).has_value();
    const bool travels = input.peer != rank_.transport.rank();
    const auto latency = travels ? rank_.paced(rank_.config.times.comm) : std::nullopt;
    return rank_.transport.arrived(input.peer, input.key, [&](const Message& message) {
        return rank_.device->device().arrived(message.tensor, latency, rank_.parts.clock.now());
    });
}

void ReadyOps::release(TimeNs now) {
    std::erase_if(pending_, [&](std::size_t index) {
        const bool there = rank_.device || arrived_.at(index).time <= now;
        if (there) dispatch_->arrived(index);
        return there;
    });
}

TimeNs ReadyOps::wait() {
    constexpr TimeNs kPoll{100'000}; // much shorter than an op
    const Op& first = rank_.ops()[dispatch_->awaited().front()];
    if (const auto input = rank_.topology.inputOf(first)) rank_.report(Activity::Kind::Receiving, first, input->peer);
    const bool emulated = rank_.clock.paced() && !rank_.device;
    if (!emulated || pending_.empty()) {
        rank_.clock.sleepUntil(rank_.parts.clock.now() + kPoll);
        if (!emulated) return rank_.now();
        poll();
        if (pending_.empty()) return rank_.now();
    }
    const auto arrival = [this](std::size_t index) { return arrived_.at(index).time; };
    rank_.clock.sleepUntil(arrival(*std::ranges::min_element(pending_, {}, arrival)));
    poll();
    return std::max(rank_.now(), arrival(*std::ranges::min_element(pending_, {}, arrival)));
}

} // namespace bubblescope::runtime
