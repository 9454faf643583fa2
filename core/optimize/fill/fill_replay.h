#pragma once

#include "core/graph/step_graph.h"
#include "core/timeline/step_timeline.h"

#include <span>
#include <vector>

namespace bubblescope {

/// Work placed before ops, and taken out of ops: one entry per rank and op of its list, plus one for the time after the
/// last op.
struct FillChanges {
    std::vector<std::vector<TimeNs>> before;  ///< before the op
    std::vector<std::vector<TimeNs>> shorter; ///< reduction of the op's time

    explicit FillChanges(const StepTimeline& step);
};

/// A step's length if other work runs in its bubbles: a unit starts when the rank has finished the previous unit *and*
/// the work placed in between, and its inputs have arrived. Without changes, the result is the observed step.
class FillReplay {
public:
    explicit FillReplay(const StepTimeline& step);

    [[nodiscard]] TimeNs run(const FillChanges& changes);
    /// The idle time before each op of a rank, and after the last, that is explained by a known wait.
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
