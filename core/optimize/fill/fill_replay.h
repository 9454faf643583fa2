#pragma once

#include "core/graph/step_graph.h"
#include "core/timeline/step_timeline.h"

#include <span>
#include <vector>

namespace bubblescope {

/// Work put before ops, and taken out of ops: one entry a rank and op of its list, and one more for the time behind the
/// last op.
struct FillChanges {
    std::vector<std::vector<TimeNs>> before;  ///< before the op
    std::vector<std::vector<TimeNs>> shorter; ///< by which the op takes less

    explicit FillChanges(const StepTimeline& step);
};

/// A step's length where other work runs in its bubbles: a unit starts when the rank has ended the unit before it *and*
/// what was put in between, and its inputs are there. Without changes that is the observed step.
class FillReplay {
public:
    explicit FillReplay(const StepTimeline& step);

    [[nodiscard]] TimeNs run(const FillChanges& changes);
    /// The idle time before each op of a rank, and behind the last, that a known wait explains.
    [[nodiscard]] std::vector<TimeNs> waits(Rank rank) const;

private:
    /// An op of a rank's list that begins a unit.
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
