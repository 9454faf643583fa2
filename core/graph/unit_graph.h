#pragma once

#include "core/graph/task_graph.h"
#include "core/schedule/dependency.h"

#include <vector>

namespace bubblescope {

/// A unit's number, in an order in which all units can run. A unit is an op, or both halves of an overlapped pair.
using UnitIndex = TaskIndex;
inline constexpr UnitIndex kNoUnit = kNoTask;

/// A schedule's units and what they wait for: their turn on their rank, and their inputs from neighbouring stages. What
/// a stage kept for its own backward lies on the same rank, and so is there.
struct UnitGraph {
    std::vector<OpIndex> op;        ///< per unit: the op, or the first of the pair
    std::vector<UnitIndex> unit_of; ///< per op; kNoUnit for ops that cannot run
    /// Rows: the unit before it on its rank, the input of its op, and where the schedule has pairs that of the second.
    TaskGraph tasks;
    std::vector<OpIndex> blocked; ///< per rank that is stuck for good, the op it cannot start; empty = no deadlock

    [[nodiscard]] UnitIndex size() const { return static_cast<UnitIndex>(op.size()); }
};

/// Of a graph without missing ops. Linear.
[[nodiscard]] UnitGraph unitGraph(const OpGraph& ops);

} // namespace bubblescope
