#pragma once

#include "core/graph/task_graph.h"
#include "core/schedule/dependency.h"

#include <vector>

namespace bubblescope {

/// Number of a unit, in an order in which all units can run. A unit is an op, or both halves of an overlapped pair.
using UnitIndex = TaskIndex;
inline constexpr UnitIndex kNoUnit = kNoTask;

/// A schedule's units and their dependencies: the previous unit on the same rank, and inputs from neighbouring stages.
/// The activations that a stage stores for its backward need no edge, because the rank's order implies the dependency.
struct UnitGraph {
    std::vector<OpIndex> op;        ///< per unit: the op, or the first op of the pair
    std::vector<UnitIndex> unit_of; ///< per op; kNoUnit for ops that cannot run
    /// Each row has the previous unit on the rank, the input of the unit's op and, in schedules with pairs, that of the
    /// second op.
    TaskGraph tasks;
    std::vector<OpIndex> blocked; ///< per rank in a deadlock: the op that cannot start

    [[nodiscard]] UnitIndex size() const { return static_cast<UnitIndex>(op.size()); }
};

/// The units of a graph without missing ops. Linear.
[[nodiscard]] UnitGraph unitGraph(const OpGraph& ops);

} // namespace bubblescope
