#pragma once

#include "core/aadiff/slots.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

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
    int most_steps = 10'000; ///< that are planned in search of full coverage
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
