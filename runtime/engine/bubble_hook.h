#pragma once

#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"
#include "core/timeline/bubbles.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace bubblescope::runtime {

/// A bubble in a rank's list of ops.
struct BubblePlace {
    Position position = Position::BeforeWarmup;
    std::size_t before = 0; ///< index of the op that ends the bubble; the length of the list for the bubble after the
                            ///< last op
    TimeNs expected{0};     ///< length of the bubble if ops are paced with the cost model's times
};

/// A bubble that a rank has reached. Ranks are numbered as in RunMesh.
struct BubbleMoment {
    Rank world_rank;
    Rank rank; ///< in its pipeline
    int step = 0;
    BubblePlace place;
};

/// Called at each bubble of a rank, on its thread. When the hook is called, everything that the rank computed has been
/// passed to the transport, and the rank has not begun to wait for its next input. Work that fits into the bubble does
/// not lengthen the step, and no rank waits for it. Several ranks may call this at the same time. An exception ends the
/// run with an error that names the rank.
using BubbleHook = std::function<void(const BubbleMoment&)>;

/// The given model or, if it has no times, a model in which a forward takes as long as each half of a backward.
[[nodiscard]] CostModel timesOrUnits(const CostModel& times);

/// The bubbles of a valid schedule according to the simulation, by rank and in the order of the rank's list. The
/// bubbles before the first op and after the last op are included. See timesOrUnits().
[[nodiscard]] std::vector<std::vector<BubblePlace>> bubblePlaces(const Schedule& schedule, const CostModel& times);

} // namespace bubblescope::runtime
