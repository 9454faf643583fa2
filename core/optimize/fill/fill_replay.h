#pragma once

#include "core/graph/step_graph.h"
#include "core/timeline/step_timeline.h"

#include <vector>

namespace bubblescope {

/// Work that is placed before ops, and work that is removed from ops. For each rank, one entry per op in its list, plus
/// one for the time after the last op.
struct FillChanges {
    std::vector<std::vector<TimeNs>> before;  ///< time spent on work before the op
    std::vector<std::vector<TimeNs>> shorter; ///< reduction of the op's time

    explicit FillChanges(const StepTimeline& step);
};

/// The length of a step if other work runs in its bubbles. A unit starts when its inputs have arrived and the rank has
/// finished the previous unit *and* the work placed in between. Without changes, the result is the observed step.
class FillReplay {
public:
    explicit FillReplay(const StepTimeline& step);

    [[nodiscard]] TimeNs run(const FillChanges& changes);
    /// The idle time before each op of a rank and after the last op, as far as a known wait explains it.
    [[nodiscard]] std::vector<TimeNs> waits(Rank rank) const;

private:
    /// The first op of a unit in a rank's list.
    struct Head {
        UnitIndex unit = kNoUnit;
        std::size_t op = 0;
    };
    const StepTimeline& step_;
    StepGraph graph_;
    std::vector<std::vector<Head>> heads_; ///< per rank
    TaskTimes ends_;
};

} // namespace bubblescope
