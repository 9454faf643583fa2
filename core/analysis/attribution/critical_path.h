#pragma once

#include "core/analysis/accounting/cause.h"
#include "core/graph/step_replay.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// A piece of the critical path. Times count from the start of the step.
struct PathSegment {
    enum class Kind : std::uint8_t {
        Op,
        Transfer, ///< to the unit's rank, or one of its own sends that blocked it
        Delay,    ///< the unit could have started but did not
    };
    Kind kind = Kind::Op;
    UnitIndex unit = kNoUnit;
    TimeNs start{0};
    TimeNs end{0};
};

/// The reason why the step took as long as it did: a chain of ops and transfers from its start to its end, each of
/// which started when the previous one ended. The segments are contiguous and disjoint, so they sum to the wall time.
struct CriticalPath {
    std::vector<PathSegment> segments; ///< by time; none are empty
    TimeNs ops{0};
    TimeNs transfers{0};
    TimeNs delays{0};
    /// The delays by cause: Communication, Peer, Replay, LateStart; Unknown for those that no record explains.
    PerCause<TimeNs> delayed{};
    /// Per unit: the time by which it could have ended later without making the step longer, all else being equal. 0 on
    /// the critical path.
    std::vector<TimeNs> slack;
};

/// `parts` are the graph's delays by cause. Linear in units.
[[nodiscard]] CriticalPath criticalPath(const StepGraph& graph, const std::vector<Binding>& bindings,
                                        const DelayParts& parts = {});

} // namespace bubblescope
