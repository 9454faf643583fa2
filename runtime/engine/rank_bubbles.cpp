#include "runtime/engine/rank_bubbles.h"

#include <algorithm>
#include <utility>

namespace bubblescope::runtime {

/// The idle clock on the host: work in a bubble uses time in which the rank's thread would otherwise wait.
class RankBubbles::HostIdleClock final : public IdleClock {
public:
    HostIdleClock(RankBubbles& bubbles, std::size_t index) : bubbles_(bubbles), rank_(bubbles.rank_), index_(index) {}

    [[nodiscard]] TimeNs now() const override { return rank_.clock.begin(rank_.clock.freeAt(), kEmulated); }

    [[nodiscard]] bool arrived() override {
        const TimeNs now = this->now();
        return bubbles_.allThere(index_, now, true, [&](const CommTopology::Route& input) {
            const std::optional<TimeNs> sent = rank_.transport.peek(input.peer, input.key);
            const bool travels = rank_.clock.paced() && input.peer != rank_.transport.rank();
            return sent && *sent + (travels ? rank_.config.times.comm : TimeNs{0}) <= now;
        });
    }

    std::pair<TimeNs, TimeNs> spend(TimeNs nominal, const std::function<void()>& work) override {
        const TimeNs begin = now();
        rank_.report(Activity::Kind::Checking, rank_.lastOp(index_));
        work();
        bubbles_.reportIdle(index_);
        if (emulates() && nominal == TimeNs{0}) return {begin, begin};
        const TimeNs end = rank_.clock.end(begin, nominal).time;
        static_cast<void>(rank_.clock.hold(begin, nominal));
        return {begin, end};
    }

    [[nodiscard]] std::optional<HostLoad> load() const override { return rank_.transport.hostLoad(); }
    void nap(TimeNs time) override { rank_.clock.sleepUntil(rank_.parts.clock.now() + time); }
    [[nodiscard]] bool emulates() const override { return rank_.clock.paced(); }

private:
    static constexpr TimeNs kEmulated{1}; ///< any nominal time
    RankBubbles& bubbles_;
    RankState& rank_;
    std::size_t index_;
};

/// The idle clock on a device, with work in the queue of checks.
class RankBubbles::DeviceIdleClock final : public IdleClock {
public:
    /// Waits for the device.
    DeviceIdleClock(RankBubbles& bubbles, std::size_t index)
        : bubbles_(bubbles), rank_(bubbles.rank_), index_(index),
          at_(device().finishSoFar().value_or(rank_.hook->stepBegin())) {}

    [[nodiscard]] TimeNs now() const override { return emulates() ? at_ : std::max(at_, rank_.parts.clock.now()); }

    [[nodiscard]] bool arrived() override {
        const TimeNs now = this->now();
        return bubbles_.allThere(index_, now, emulates(), [&](const CommTopology::Route& input) {
            const bool travels = emulates() && input.peer != rank_.transport.rank();
            const auto latency = travels ? std::optional(rank_.config.times.comm) : std::nullopt;
            return rank_.transport.arrived(input.peer, input.key, [&](const Message& message) {
                return device().arrived(message.tensor, latency, now);
            });
        });
    }

    std::pair<TimeNs, TimeNs> spend(TimeNs nominal, const std::function<void()>& work) override {
        const RankQueue::Span span = device().runCheck(rank_.paced(nominal), work);
        at_ = std::max(at_, span.end);
        return {span.begin, span.end};
    }

    [[nodiscard]] bool emulates() const override { return rank_.clock.paced(); }

private:
    [[nodiscard]] RankQueue& device() const { return rank_.device->device(); }

    RankBubbles& bubbles_;
    RankState& rank_;
    std::size_t index_;
    TimeNs at_; ///< time at which the device had finished the rank's work, or the last work in this bubble
};

RankBubbles::RankBubbles(RankState& rank) : rank_(rank) {
    if (rank.config.bubble_hook) bubbles_ = bubblePlaces(rank.schedule, rank.config.times)[rank.place.rank.index()];
}

template <class There>
bool RankBubbles::allThere(std::size_t index, TimeNs now, bool held_counts, const There& there) const {
    const std::span<const Op> ops = rank_.ops();
    if (index >= ops.size()) return false; // the ends of other ranks cannot be observed here
    const std::optional<TimeNs> held = held_counts ? heldUntil(index) : std::nullopt;
    if (held && *held > now) return false;
    return std::ranges::all_of(ops.subspan(index, rank_.togetherFrom(index)), [&](const Op& op) {
        const std::optional<CommTopology::Route> input = rank_.topology.inputOf(op);
        return !input || there(*input);
    });
}

void RankBubbles::beginStep() {
    next_bubble_ = 0;
    if (rank_.device && rank_.fillsBubbles()) rank_.hook->stepBegan(rank_.device->device().stepBegan());
}

void RankBubbles::before(std::size_t index) {
    callBubbleHook(index);
    work(index);
}

void RankBubbles::callBubbleHook(std::size_t index) {
    for (; next_bubble_ < bubbles_.size() && bubbles_[next_bubble_].before <= index; ++next_bubble_) {
        rank_.config.bubble_hook({rank_.transport.rank(), rank_.place.rank, rank_.step, bubbles_[next_bubble_]});
    }
}

void RankBubbles::work(std::size_t index) {
    if (!works() || !rank_.hook->hasWork(index)) return;
    if (rank_.device) {
        DeviceIdleClock clock(*this, index);
        rank_.hook->onIdle(index, clock);
    } else {
        reportIdle(index);
        HostIdleClock clock(*this, index);
        rank_.hook->onIdle(index, clock);
    }
}

void RankBubbles::reportIdle(std::size_t index) {
    const std::span<const Op> ops = rank_.ops();
    if (index >= ops.size()) return rank_.report(Activity::Kind::AtBarrier);
    const std::optional<CommTopology::Route> input = rank_.topology.inputOf(ops[index]);
    if (input) rank_.report(Activity::Kind::Receiving, ops[index], input->peer);
}

void RankBubbles::inputsReady(std::size_t index, TimeNs ready) {
    if (ready > TimeNs{0} && works()) rank_.hook->inputsReady(index, ready, std::nullopt);
}

void RankBubbles::opsDone(TimeNs met) {
    const std::span<const Op> ops = rank_.ops();
    if (!rank_.device) return inputsReady(ops.size(), met);
    if (!rank_.fillsBubbles()) return;
    TimeNs idle_since = rank_.hook->stepBegin();
    for (const DoneOp& done : rank_.device->done()) {
        const auto index = static_cast<std::size_t>(std::ranges::find(ops, done.op) - ops.begin());
        const TimeNs ready = std::max(done.ready, heldUntil(index).value_or(TimeNs{0}));
        if (ready > TimeNs{0}) rank_.hook->inputsReady(index, ready, idle_since);
        idle_since = done.end;
    }
    rank_.hook->inputsReady(ops.size(), met, idle_since);
    settle();
}

void RankBubbles::optimizerDone() {
    if (rank_.device) settle();
}

void RankBubbles::settle() {
    if (!works()) return;
    DeviceIdleClock clock(*this, rank_.ops().size());
    rank_.hook->onOpsDone(rank_.device->done(), clock);
}

std::optional<TimeNs> RankBubbles::heldSinceStep(std::size_t index) const {
    return works() ? rank_.hook->heldSinceStep(index) : std::nullopt;
}

std::optional<TimeNs> RankBubbles::heldUntil(std::size_t index) const {
    const std::optional<TimeNs> held = heldSinceStep(index);
    return held ? std::optional(rank_.hook->stepBegin() + *held) : std::nullopt;
}

} // namespace bubblescope::runtime
