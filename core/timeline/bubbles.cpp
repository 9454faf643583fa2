#include "core/timeline/bubbles.h"

#include <algorithm>

namespace bubblescope {

namespace {

/// The position of a gap before the op at `index`.
Position gapPosition(const Phases& phases, std::size_t index) {
    if (index == 0) return Position::BeforeWarmup;
    if (index >= phases.end) return Position::AfterCooldown;
    if (!phases.hasSteady()) {
        if (index == phases.steady) return Position::ForwardToBackward;
        return index < phases.steady ? Position::InsideWarmup : Position::InsideCooldown;
    }
    if (index < phases.steady) return Position::InsideWarmup;
    // The steady phase's first forward usually runs as soon as warm-up ends, and the rank then waits for its first
    // backward: that wait separates warm-up from steady.
    if (index <= phases.steady + 1) return Position::WarmupToSteady;
    if (index < phases.cooldown) return Position::InsideSteady;
    return index == phases.cooldown ? Position::SteadyToCooldown : Position::InsideCooldown;
}

} // namespace

std::string_view positionName(Position position, bool f_then_b) {
    switch (position) {
    case Position::BeforeWarmup: return f_then_b ? "before forward" : "before warm-up";
    case Position::InsideWarmup: return f_then_b ? "inside forward" : "inside warm-up";
    case Position::WarmupToSteady: return "between warm-up and steady";
    case Position::InsideSteady: return "inside steady";
    case Position::SteadyToCooldown: return "between steady and cool-down";
    case Position::ForwardToBackward: return "between forward and backward";
    case Position::InsideCooldown: return f_then_b ? "inside backward" : "inside cool-down";
    case Position::AfterCooldown: return f_then_b ? "after backward" : "after cool-down";
    }
    return "";
}

Phases findPhases(const std::vector<Op>& ops) {
    Phases phases;
    phases.end = ops.size();
    while (phases.end > 0 && ops[phases.end - 1].kind == OpKind::Optimizer)
        --phases.end;

    const auto is_forward = [&](std::size_t i) { return ops[i].kind == OpKind::Forward; };
    const auto is_backward = [&](std::size_t i) { return producesInputGradient(ops[i].kind); };
    std::size_t first_backward = 0;
    while (first_backward < phases.end && !is_backward(first_backward))
        ++first_backward;
    std::size_t last_forward = ops.size();
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (is_forward(i)) last_forward = i;
    }
    phases.steady = phases.cooldown = first_backward;
    if (first_backward == phases.end || last_forward == ops.size()) return phases;
    const bool after_forward = first_backward > 0 && is_forward(first_backward - 1);
    const bool pair = after_forward && ops[first_backward].overlapped && ops[first_backward - 1].overlapped;
    if (last_forward < first_backward && !pair) return phases;

    if (after_forward) phases.steady = first_backward - 1;
    phases.cooldown = last_forward + 1;
    while (phases.cooldown < phases.end && !is_backward(phases.cooldown))
        ++phases.cooldown;
    phases.cooldown = std::min(phases.cooldown + 1, phases.end);
    return phases;
}

StepOrder::StepOrder(const StepTimeline& step) : schedule_(executedOrder(step)), graph_(schedule_) {
    ops_.reserve(step.ranks.size());
    phases_.reserve(step.ranks.size());
    for (const auto& ran : step.ranks) {
        auto& ops = ops_.emplace_back();
        ops.reserve(ran.size());
        for (const TimelineOp& op : ran)
            ops.push_back(op.op);
        phases_.push_back(findPhases(ops));
    }
}

bool StepOrder::assign(const StepTimeline& step) {
    if (isOf(step)) return true;
    *this = StepOrder(step);
    return false;
}

bool StepOrder::isOf(const StepTimeline& step) const {
    if (step.pp != schedule_.pp || step.microbatches != schedule_.microbatches || step.vpp != schedule_.vpp)
        return false;
    if (step.placement != schedule_.placement || step.ranks.size() != ops_.size()) return false;
    for (std::size_t r = 0; r < ops_.size(); ++r) {
        const auto& ran = step.ranks[r];
        if (ran.size() != ops_[r].size()) return false;
        for (std::size_t i = 0; i < ran.size(); ++i) {
            if (ran[i].op != ops_[r][i]) return false;
        }
    }
    return true;
}

namespace {

/// Calls visit(bubble) for each bubble of a rank whose ops run from startOf(i) to endOf(i).
template <class StartOf, class EndOf, class Visit>
void eachBubble(const StepTimeline& step, const StepOrder& order, Rank rank, StartOf startOf, EndOf endOf,
                Visit visit) {
    const std::size_t count = step.ranks[rank.index()].size();
    const Phases& phases = order.phases(rank);
    TimeNs covered = step.begin;
    const auto gap = [&](TimeNs until, std::size_t index) {
        const TimeNs end = std::min(until, step.end);
        if (end > covered) visit(Bubble{rank, gapPosition(phases, index), covered, end});
    };
    for (std::size_t i = 0; i < count; ++i) {
        gap(startOf(i), i);
        covered = std::max(covered, endOf(i));
    }
    gap(step.end, count);
}

template <class Visit>
void eachBubble(const StepTimeline& step, const StepOrder& order, Rank rank, Visit visit) {
    const auto& ops = step.ranks[rank.index()];
    eachBubble(
        step, order, rank, [&](std::size_t i) { return ops[i].start; }, [&](std::size_t i) { return ops[i].end; },
        visit);
}

} // namespace

std::vector<std::vector<Bubble>> findBubbles(const StepTimeline& step) {
    return findBubbles(step, StepOrder(step));
}

std::vector<std::vector<Bubble>> findBubbles(const StepTimeline& step, const StepOrder& order) {
    std::vector<std::vector<Bubble>> result(step.ranks.size());
    for (std::size_t r = 0; r < result.size(); ++r) {
        std::size_t count = 0; // they are kept with the step, so that room for more would be too
        eachBubble(step, order, Rank{r}, [&](const Bubble&) { ++count; });
        result[r].reserve(count);
        eachBubble(step, order, Rank{r}, [&](const Bubble& bubble) { result[r].push_back(bubble); });
    }
    return result;
}

std::vector<PerPosition<TimeNs>> bubblesByPosition(const StepTimeline& step, const StepOrder& order) {
    std::vector<PerPosition<TimeNs>> result(step.ranks.size());
    for (std::size_t r = 0; r < result.size(); ++r) {
        eachBubble(step, order, Rank{r},
                   [&](const Bubble& bubble) { result[r][positionIndex(bubble.position)] += bubble.duration(); });
    }
    return result;
}

std::vector<PerPosition<TimeNs>> bubblesByPosition(const StepTimeline& step, const StepOrder& order,
                                                   std::span<const TimeNs> starts, std::span<const TimeNs> durations) {
    std::vector<PerPosition<TimeNs>> result(step.ranks.size());
    std::size_t next = 0; // in both lists
    for (std::size_t r = 0; r < result.size(); ++r) {
        const auto& ops = step.ranks[r];
        TimeNs end{0}; // of the current op
        const auto startOf = [&](std::size_t i) {
            if (ops[i].op.kind == OpKind::Optimizer) {
                end = ops[i].end;
                return ops[i].start;
            }
            end = starts[next] + durations[next];
            return starts[next++];
        };
        eachBubble(
            step, order, Rank{r}, startOf, [&](std::size_t) { return end; },
            [&](const Bubble& bubble) { result[r][positionIndex(bubble.position)] += bubble.duration(); });
    }
    return result;
}

BubbleRates bubbleRates(const StepTimeline& step) {
    TimeNs busy_total{0};
    TimeNs busiest{0};
    TimeNs longest{0};
    TimeNs longest_busy{0};
    for (const auto& ops : step.ranks) {
        TimeNs busy{0};
        TimeNs covered = step.begin;
        TimeNs first = step.end;
        for (const TimelineOp& op : ops) {
            if (op.start >= step.end) break;
            first = std::min(first, op.start);
            const TimeNs from = std::max(covered, op.start);
            const TimeNs to = std::min(op.end, step.end);
            if (to > from) busy += to - from;
            covered = std::max(covered, to);
        }
        busy_total += busy;
        busiest = std::max(busiest, busy);
        if (covered - first > longest) {
            longest = covered - first;
            longest_busy = busy;
        }
    }
    const TimeNs capacity = step.wall() * static_cast<std::int64_t>(step.ranks.size());
    return {fractionOf(capacity - busy_total, capacity), fractionOf(longest - longest_busy, longest),
            fractionOf(step.wall() - busiest, busiest)};
}

} // namespace bubblescope
