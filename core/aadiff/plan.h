#pragma once

#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"
#include "core/theory/closed_form.h"
#include "core/timeline/bubbles.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
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

/// What checks cover: one kind of op of one layer of one chunk. Any micro-batch's will do, since all run the same code
/// on the same hardware. Layers of a chunk count from its input.
struct CheckUnit {
    Rank rank;
    Chunk chunk;
    OpKind kind = OpKind::Forward;
    int layer = 0;
    TimeNs cost{0}; ///< of computing it again, its digest included
};

/// How checks are to be planned.
struct PlanLimits {
    /// Layers of each stage; empty = chunks are checked as a whole. A chunk's layers take equal shares of its time;
    /// one without layers has nothing to check.
    std::vector<int> layers;
    double margin = 0.1; ///< share of its cost by which a check may take longer and still delay nobody
    TimeNs latency{0};   ///< from the decision to the first work, for every check
    /// Inputs that an op leaves behind are kept until they are checked, where it would give them up before: bytes of
    /// one op of each stage (all its layers), and what each rank has to spare. Empty = as much as is asked for.
    std::vector<std::int64_t> kept_bytes;
    std::vector<std::int64_t> spare_bytes;
    int max_steps = 10'000; ///< that are planned in search of full coverage
};

/// A check in its place.
struct PlannedCheck {
    std::size_t slot = 0; ///< of its rank's
    std::size_t unit = 0; ///< of its rank's
    Microbatch microbatch;
    TimeNs start{0};
    TimeNs end{0};      ///< margin included
    bool kept = false;  ///< its inputs would be gone by then: they are kept for it
    std::size_t op = 0; ///< that is run again, in the rank's order
};

/// What one rank checks.
struct RankPlan {
    std::vector<Slot> slots;
    std::vector<CheckUnit> units;
    std::vector<std::vector<PlannedCheck>> steps; ///< until all units are covered that ever can be; by start
    std::vector<std::size_t> never;               ///< units that fit no slot in which their inputs are there
    /// Idle time in slots where nothing of the step has run yet, for known-answer tests.
    TimeNs before_first{0};
    std::int64_t peak_kept_bytes = 0;

    [[nodiscard]] TimeNs idle() const;
    /// Mean over the planned steps, margins left out.
    [[nodiscard]] TimeNs checkedPerStep() const;
    /// Steps to full coverage; nothing where some units are never covered.
    [[nodiscard]] std::optional<int> stepsToFull() const;
};

struct AadiffPlan {
    std::vector<RankPlan> ranks;

    /// That of the slowest rank; nothing where some units are never covered.
    [[nodiscard]] std::optional<int> stepsToFull() const;
    [[nodiscard]] TimeNs checkedPerStep() const; ///< of all ranks
};

/// Which ops are run again where, so that no op of a step has to wait: a check is placed only where it ends, its margin
/// included, before the slot does. Slots are filled with the units whose last check is longest ago first; in one step
/// no layer of an op is run again twice, but the same unit may be, with another micro-batch.
///
/// What can be checked where: a forward as long as its activations are there, up to its backward, for nothing; behind
/// that, and backwards (B, I, W) once they have run, if their inputs are kept. Weights change at the step's end, so
/// nothing of the step before can be run again; slots before a rank's first op are left to known-answer tests.
///
/// `step` is the timeline whose slots `source` gives, with the ops in the order of `schedule`.
[[nodiscard]] AadiffPlan planChecks(const SlotSource& source, const StepTimeline& step, const CostModel& costs,
                                    const PlanLimits& limits);

} // namespace bubblescope
