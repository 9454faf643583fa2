#pragma once

#include "core/analysis/accounting/cause.h"
#include "core/graph/step_replay.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// A segment of the critical path. Times are relative to the start of the step.
struct PathSegment {
    enum class Kind : std::uint8_t {
        Op,
        Transfer, ///< transfer to the unit's rank, or a blocking send by that rank
        Delay,    ///< the unit could have started but did not
    };
    Kind kind = Kind::Op;
    UnitIndex unit = kNoUnit;
    TimeNs start{0};
    TimeNs end{0};
};

/// A chain of ops and transfers from the start to the end of the step, in which each started when the previous one
/// ended. It determines the step time. The segments are contiguous and disjoint, so they sum to the wall time.
struct CriticalPath {
    std::vector<PathSegment> segments; ///< in order of time; no segment is empty
    TimeNs ops{0};
    TimeNs transfers{0};
    TimeNs delays{0};
    /// Delays on the path, by cause: Communication, Peer, Replay, LateStart; Unknown for delays without a record.
    PerCause<TimeNs> delayed{};
    /// Time by which each unit could have ended later, with all else unchanged, without making the step longer. 0 on
    /// the critical path.
    std::vector<TimeNs> slack;
};

/// `parts` contains the graph's delays by cause. Linear in units.
[[nodiscard]] CriticalPath criticalPath(const StepGraph& graph, const std::vector<Binding>& bindings,
                                        const DelayParts& parts = {});

} // namespace bubblescope
