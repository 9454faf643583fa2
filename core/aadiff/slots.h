#pragma once

#include "core/theory/closed_form.h"
#include "core/timeline/position.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// A bubble that can hold checks.
struct Slot {
    Rank rank;
    Position position = Position::BeforeWarmup;
    TimeNs start{0}; ///< counted from the step's begin
    TimeNs end{0};
    std::size_t next_op =
        0; ///< in the rank's order: the op that must not be made to wait; their number behind the last

    [[nodiscard]] TimeNs duration() const { return end - start; }
};

/// Where slots come from: a schedule's positions, or what was seen of a run. By rank, each by start.
class SlotSource {
public:
    virtual ~SlotSource() = default;
    [[nodiscard]] virtual std::vector<std::vector<Slot>> slots() const = 0;

protected:
    SlotSource() = default;
    SlotSource(const SlotSource&) = default;
    SlotSource& operator=(const SlotSource&) = default;
};

/// The bubbles of one step, simulated or consolidated.
class ScheduleSlots : public SlotSource {
public:
    explicit ScheduleSlots(const StepTimeline& step) : step_(step) {}
    [[nodiscard]] std::vector<std::vector<Slot>> slots() const override;

private:
    const StepTimeline& step_;
};

/// What the last steps of a run left free between the same ops: the shortest of each, at the place where the last of
/// the steps had it. Steps whose ranks ran other orders than the last one are not looked at.
class ObservedSlots : public SlotSource {
public:
    explicit ObservedSlots(std::span<const StepTimeline> steps) : steps_(steps) {}
    [[nodiscard]] std::vector<std::vector<Slot>> slots() const override;

private:
    std::span<const StepTimeline> steps_;
};

/// How many op times the closed form's bubbles are long: in 1F1B rank s has s, p−s−1, p−s−1 and s, as "aadiff" was
/// first drawn up for PaddlePaddle. Counted by making ops longer by a nanosecond each: a form such as (p−s−1)·t_b gives
/// p−s−1. In schedules that split the backward its halves count as one op each.
struct SlotCounts {
    std::vector<PerPosition<int>> ranks;
    [[nodiscard]] int total(Rank rank) const;
};

/// Nothing where the schedule has no exact form at every position, or its stages differ.
[[nodiscard]] std::optional<SlotCounts> slotCounts(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
