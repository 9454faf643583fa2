#pragma once

#include "core/diagnose/accounting/step_graph.h"

namespace bubblescope {

/// The times on which a step is replayed, one entry a unit.
struct ReplayTimes {
    std::span<const TimeNs> durations;
    /// Laid out as in the graph; null = transfers take no time.
    const std::array<std::vector<TimeNs>, 2>* transfers = nullptr;
    std::span<const TimeNs> delays; ///< how long after it could a unit starts; empty = at once
};

/// Runs a step's units again: each starts as soon as its rank is free and its inputs are there. `order` is one of
/// StepGraph::orderBy(); empty = as observed. Fills `ends`, one entry a unit, and returns the step's length. Trailing
/// ops do not make a step longer. Linear in units.
TimeNs replay(const StepGraph& graph, std::span<const UnitIndex> order, const ReplayTimes& times,
              std::vector<TimeNs>& ends);

} // namespace bubblescope
