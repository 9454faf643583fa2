#pragma once

#include "core/diagnose/accounting/step_graph.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// Which of the things that a unit waited for came last: the end of the unit before it on its rank, or its first or
/// second input. Where they came together the rank's own counts.
enum class Latest : std::int8_t { Begin = -2, Previous = -1, FirstInput = 0, SecondInput = 1 };

struct Binding {
    UnitIndex unit = kNoUnit; ///< kNoUnit where nothing came before, so that the step's begin counts
    Latest latest = Latest::Begin;
    bool crosses = false; ///< came from another rank by a transfer
    TimeNs arrival{0};
};

/// Of each unit of the graph. Linear.
[[nodiscard]] std::vector<Binding> bindings(const StepGraph& graph);

/// A piece of the critical path. Times count from the step's begin.
struct PathSegment {
    enum class Kind : std::uint8_t {
        Op,
        Transfer, ///< to the unit's rank
        Delay,    ///< the unit could have begun, and did not
    };
    Kind kind = Kind::Op;
    UnitIndex unit = kNoUnit;
    TimeNs start{0};
    TimeNs end{0};
};

/// What made the step as long as it was: a chain of ops and transfers from its begin to its end, each of which began
/// when the one before it ended. The segments leave no time out and overlap nowhere, so they sum to the wall time.
struct CriticalPath {
    std::vector<PathSegment> segments; ///< by time; none of length 0
    TimeNs ops{0};
    TimeNs transfers{0};
    TimeNs delays{0};
    /// Per unit: how much later it could have ended without making the step longer, everything else as it was. 0 on
    /// the critical path.
    std::vector<TimeNs> slack;
};

/// Linear in units.
[[nodiscard]] CriticalPath criticalPath(const StepGraph& graph, const std::vector<Binding>& bindings);

} // namespace bubblescope
