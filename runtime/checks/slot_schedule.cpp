#include "runtime/checks/slot_schedule.h"

#include <algorithm>

namespace bubblescope::runtime {
namespace {

constexpr std::size_t kLastEnds = 8;    ///< number of ends of a slot that predictions use
constexpr std::size_t kEndsToTrust = 3; ///< known ends that a prediction needs without nominal times

} // namespace

SlotSchedule::SlotSchedule(const CheckSetup& setup, const Schedule& schedule, Rank rank) {
    const StepTimeline& step = setup.study.timeline();
    const auto& timeline = step.ranks[rank.index()];
    const auto& list = schedule.ranks[rank.index()];
    const auto indexOf = [&](std::size_t op) {
        while (op < timeline.size() && timeline[op].op.kind == OpKind::Optimizer)
            ++op;
        const auto found = op < timeline.size() ? std::ranges::find(list, timeline[op].op) : list.end();
        return static_cast<std::size_t>(found - list.begin());
    };
    for (const Slot& slot : setup.study.plan().ranks[rank.index()].slots)
        slots_.push_back({indexOf(slot.next_op), slot.end, {}});
    if (!setup.holds) return;
    holds_.resize(list.size());
    for (std::size_t op = 0; op < timeline.size(); ++op) {
        if (timeline[op].op.kind != OpKind::Optimizer) holds_[indexOf(op)] = timeline[op].start - step.begin;
    }
}

bool SlotSchedule::hasSlotBefore(std::size_t index) const {
    return std::ranges::any_of(slots_, [&](const PlacedSlot& slot) { return slot.before == index; });
}

void SlotSchedule::ended(std::size_t index, TimeNs time) {
    for (PlacedSlot& slot : slots_) {
        if (slot.before != index) continue;
        slot.seen.push_back(time);
        if (slot.seen.size() > kLastEnds) slot.seen.pop_front();
    }
}

std::optional<TimeNs> SlotSchedule::predictedEnd(std::size_t slot, bool emulated) const {
    // The shortest of the last few, not their mean: a check that ends too late delays all ranks.
    const PlacedSlot& placed = slots_[slot];
    if (placed.seen.size() >= (emulated ? 1 : kEndsToTrust)) return *std::ranges::min_element(placed.seen);
    return emulated ? std::optional(placed.end) : std::nullopt;
}

} // namespace bubblescope::runtime
