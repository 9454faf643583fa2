#include "runtime/engine/rank_loop.h"

#include <algorithm>
#include <utility>

// What a rank does in its bubbles: checks, and calls of the hook.

namespace bubblescope::runtime {

class RankLoop::BubbleClock final : public SlotClock {
public:
    BubbleClock(RankLoop& loop, std::span<const Op> next) : loop_(loop), next_(next) {}

    [[nodiscard]] TimeNs now() const override { return loop_.clock_.begin(loop_.clock_.freeAt(), kEmulated); }

    [[nodiscard]] bool arrived() override {
        if (next_.empty()) return false; // the others' ends cannot be seen from here
        const TimeNs now = this->now();
        const std::optional<TimeNs> held = loop_.checker_->heldUntil(loop_.index_);
        if (held && *held > now) return false;
        return std::ranges::all_of(next_, [&](const Op& op) {
            const std::optional<Wiring::Route> input = loop_.wiring_.inputOf(op);
            if (!input) return true;
            const std::optional<TimeNs> sent = loop_.wires_.peek(input->peer, input->key);
            const bool travels = loop_.clock_.paced() && input->peer != loop_.wires_.rank();
            return sent && *sent + (travels ? loop_.state_.config.times.comm : TimeNs{0}) <= now;
        });
    }

    std::pair<TimeNs, TimeNs> spend(TimeNs nominal, const std::function<void()>& work) override {
        const TimeNs begin = now();
        work();
        if (emulates() && nominal == TimeNs{0}) return {begin, begin};
        const TimeNs end = loop_.clock_.end(begin, nominal).time;
        static_cast<void>(loop_.clock_.hold(begin, nominal));
        return {begin, end};
    }

    [[nodiscard]] bool emulates() const override { return loop_.clock_.paced(); }

private:
    static constexpr TimeNs kEmulated{1}; ///< any nominal time
    RankLoop& loop_;
    std::span<const Op> next_;
};

class RankLoop::DeviceBubbleClock final : public SlotClock {
public:
    /// Waits for the device.
    DeviceBubbleClock(RankLoop& loop, std::span<const Op> next)
        : loop_(loop), next_(next), at_(loop.device_->device().finishSoFar().value_or(loop.checker_->stepBegin())) {}

    [[nodiscard]] TimeNs now() const override {
        return emulates() ? at_ : std::max(at_, loop_.state_.config.clock.now());
    }

    [[nodiscard]] bool arrived() override {
        if (next_.empty()) return false; // the others' ends cannot be seen from here
        const TimeNs now = this->now();
        const std::optional<TimeNs> held = emulates() ? loop_.checker_->heldUntil(loop_.index_) : std::nullopt;
        if (held && *held > now) return false;
        return std::ranges::all_of(next_, [&](const Op& op) {
            const std::optional<Wiring::Route> input = loop_.wiring_.inputOf(op);
            if (!input) return true;
            const bool travels = emulates() && input->peer != loop_.wires_.rank();
            const auto latency = travels ? std::optional(loop_.state_.config.times.comm) : std::nullopt;
            return loop_.wires_.arrived(input->peer, input->key, [&](const Message& message) {
                return loop_.device_->device().arrived(message.tensor, latency, now);
            });
        });
    }

    std::pair<TimeNs, TimeNs> spend(TimeNs nominal, const std::function<void()>& work) override {
        const RankDevice::Span span = loop_.device_->device().runCheck(loop_.paced(nominal), work);
        at_ = std::max(at_, span.end);
        return {span.begin, span.end};
    }

    [[nodiscard]] bool emulates() const override { return loop_.clock_.paced(); }

private:
    RankLoop& loop_;
    std::span<const Op> next_;
    TimeNs at_; ///< when the device was through with the rank's work, or with the last check
};

void RankLoop::checkBefore(std::size_t index) {
    if (!checks() || !checker_->hasSlot(index)) return;
    const std::span<const Op> ops = schedule_.ranks[place_.rank.index()];
    const auto next = index < ops.size() ? ops.subspan(index, togetherFrom(ops, index)) : ops.first(0);
    if (device_) {
        DeviceBubbleClock clock(*this, next);
        checker_->fill(index, clock);
    } else {
        BubbleClock clock(*this, next);
        checker_->fill(index, clock);
    }
}

void RankLoop::settleChecks() {
    if (!device_ || !checks()) return;
    const std::span<const Op> ops = schedule_.ranks[place_.rank.index()];
    for (const DoneOp& done : device_->done()) {
        const auto index = static_cast<std::size_t>(std::ranges::find(ops, done.op) - ops.begin());
        if (index == ops.size()) continue; // the optimizer
        const TimeNs there = std::max(done.ready, checker_->heldUntil(index).value_or(TimeNs{0}));
        if (there > TimeNs{0}) checker_->ended(index, there);
    }
    DeviceBubbleClock clock(*this, {});
    checker_->settle(device_->done(), clock);
}

void RankLoop::meetBubbles(std::size_t index) {
    for (; next_bubble_ < bubbles_.size() && bubbles_[next_bubble_].before <= index; ++next_bubble_)
        state_.config.bubble_hook({wires_.rank(), place_.rank, step_, bubbles_[next_bubble_]});
}

} // namespace bubblescope::runtime
