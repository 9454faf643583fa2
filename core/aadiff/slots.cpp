#include "core/aadiff/plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace bubblescope {

namespace {

std::vector<std::vector<Slot>> bubblesAsSlots(const StepTimeline& step) {
    std::vector<std::vector<Slot>> slots;
    for (const auto& bubbles : findBubbles(step)) {
        auto& of_rank = slots.emplace_back();
        for (const Bubble& bubble : bubbles) {
            const auto& ops = step.ranks[bubble.rank.index()];
            const auto next = std::ranges::lower_bound(ops, bubble.end, {}, &TimelineOp::start);
            of_rank.push_back({.rank = bubble.rank,
                               .position = bubble.position,
                               .start = bubble.start - step.begin,
                               .end = bubble.end - step.begin,
                               .next_op = static_cast<std::size_t>(next - ops.begin())});
        }
    }
    return slots;
}

/// Times with those of one kind of op longer by `more`.
OpTimes longer(OpTimes times, OpKind kind, TimeNs more) {
    switch (kind) {
    case OpKind::Forward: times.forward += more; break;
    case OpKind::Backward:
    case OpKind::BackwardInput:
        times.input_grad += more;
        times.backward += more;
        break;
    case OpKind::BackwardWeight:
        times.weight_grad += more;
        times.backward += more;
        break;
    case OpKind::Optimizer: break;
    }
    return times;
}

bool splits(const Schedule& schedule) {
    return std::ranges::any_of(schedule.ranks, [](const auto& ops) {
        return std::ranges::find(ops, OpKind::BackwardInput, &Op::kind) != ops.end();
    });
}

} // namespace

std::vector<std::vector<Slot>> ScheduleSlots::slots() const {
    return bubblesAsSlots(step_);
}

std::vector<std::vector<Slot>> ObservedSlots::slots() const {
    if (steps_.empty()) return {};
    const StepTimeline& last = steps_.back();
    const Schedule order = executedOrder(last);
    std::vector<std::vector<Slot>> slots = bubblesAsSlots(last);
    for (const StepTimeline& step : steps_.first(steps_.size() - 1)) {
        if (!(executedOrder(step).ranks == order.ranks)) continue;
        std::map<std::pair<std::size_t, std::size_t>, TimeNs> seen; // by rank and next op
        for (const auto& of_rank : bubblesAsSlots(step)) {
            for (const Slot& slot : of_rank)
                seen[{slot.rank.index(), slot.next_op}] += slot.duration();
        }
        for (auto& of_rank : slots) {
            for (Slot& slot : of_rank) {
                const auto found = seen.find({slot.rank.index(), slot.next_op});
                const TimeNs then = found == seen.end() ? TimeNs{0} : found->second;
                slot.end = std::min(slot.end, slot.start + then);
            }
            std::erase_if(of_rank, [](const Slot& slot) { return slot.duration() <= TimeNs{0}; });
        }
    }
    return slots;
}

int SlotCounts::total(Rank rank) const {
    const auto& counts = ranks[rank.index()];
    return std::accumulate(counts.begin(), counts.end(), 0);
}

std::optional<SlotCounts> slotCounts(const Schedule& schedule, const CostModel& costs) {
    constexpr TimeNs kMore{1};
    if (!costs.equalStages()) return std::nullopt;
    const auto form = closedForm(schedule, costs);
    if (!form.ok() || !form.value().exact() || !form.value().positionsKnown()) return std::nullopt;
    SlotCounts counts;
    counts.ranks.resize(schedule.ranks.size());
    std::vector<OpKind> kinds{OpKind::Forward, OpKind::BackwardInput};
    if (splits(schedule)) kinds.push_back(OpKind::BackwardWeight);
    for (const OpKind kind : kinds) {
        CostModel changed = costs;
        changed.times = longer(costs.times, kind, kMore);
        if (costs.overlapped) changed.overlapped = *costs.overlapped + kMore;
        const auto other = closedForm(schedule, changed);
        if (!other.ok() || !other.value().positionsKnown()) return std::nullopt;
        for (std::size_t r = 0; r < counts.ranks.size(); ++r) {
            for (std::size_t at = 0; at < kPositionCount; ++at) {
                const auto position = static_cast<Position>(at);
                const TimeNs grown = other.value().at(Rank{r}, position) - form.value().at(Rank{r}, position);
                counts.ranks[r][at] += static_cast<int>(std::max<std::int64_t>(grown / kMore, 0));
            }
        }
    }
    return counts;
}

} // namespace bubblescope
