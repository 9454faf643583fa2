#pragma once

#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"
#include "core/timeline/bubbles.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace bubblescope::runtime {

/// A bubble that a rank's list leaves.
struct BubblePlace {
    Position position = Position::BeforeWarmup;
    std::size_t before = 0; ///< the op in the rank's list that ends it; the list's size behind the last one
    TimeNs expected{0};     ///< how long it is where ops take the cost model's times
};

/// One that a rank has come to. Ranks of the whole run are numbered as RunMesh says.
struct BubbleMoment {
    Rank world_rank;
    Rank rank; ///< in its pipeline
    int step = 0;
    BubblePlace place;
};

/// Called by a rank's thread at each of its bubbles, when everything that it computed before has been handed to the
/// transport and before it waits for what comes next: work that fits into the bubble costs the step nothing, and nobody
/// waits for it. Several ranks may call at once. An exception ends the run with an error that names the rank.
using BubbleHook = std::function<void(const BubbleMoment&)>;

/// The model itself, or if it gives no times one in which a forward takes as long as each half of a backward.
[[nodiscard]] CostModel timesOrUnits(const CostModel& times);

/// By rank, in the list's order: the bubbles of a valid schedule as the simulation has them, also that before the first
/// op and that behind the last. See timesOrUnits().
[[nodiscard]] std::vector<std::vector<BubblePlace>> bubblePlaces(const Schedule& schedule, const CostModel& times);

} // namespace bubblescope::runtime
