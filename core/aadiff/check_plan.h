#pragma once

#include "core/base/result.h"
#include "core/timeline/bubbles.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// The checks that fit into the bubbles of a recorded run. Intervals use the clock of the run's steps.
struct CheckPlan {
    /// A bubble in which checks can run.
    struct Place {
        Rank rank;
        Position position = Position::BeforeWarmup;
        TimeInterval when;
        std::vector<Op> checks; ///< ops to re-execute in the bubble, in the plan's first step
    };
    /// One kind of op of one chunk, over all ranks.
    struct Column {
        Chunk chunk;
        OpKind kind = OpKind::Forward;
    };
    /// The ops of one rank that belong to one column.
    struct Unit {
        bool exists = false;
        int first_step = 0; ///< first step of the plan, counted from 1, that checks the unit; 0 if none does
        std::vector<TimeInterval> checks; ///< in step `first_step`
    };

    int step = 0; ///< index of the step that contains the bubbles
    std::size_t ranks = 0;
    std::vector<Place> places; ///< by rank and start
    std::vector<Column> columns;
    std::vector<Unit> units; ///< sorted by rank, with one entry per column
    TimeNs idle{0};          ///< over all places
    TimeNs checked{0};       ///< cost of checks per step, summed over all ranks
    std::optional<int> full; ///< steps until all units are checked; none if some are never checked
    double coverable = 0;    ///< fraction of the units that the plan checks at some point

    [[nodiscard]] const Unit& unit(std::size_t rank, std::size_t column) const {
        return units[rank * columns.size() + column];
    }
};

/// Plans checks of complete chunks for the first replica, based on the slots and typical times of its last step; see
/// planChecks(). `margin` is the fraction of an op's time by which its check may overrun without delaying an op.
/// `steps` must not be empty. Errors: Usage if the margin is negative.
[[nodiscard]] Result<CheckPlan> planChecksOfRun(std::span<const StepTimeline> steps, double margin);

} // namespace bubblescope
