#pragma once

#include "core/graph/step_graph.h"

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

/// The units of the critical path, from the one that ended last to the first: each is what the one before it in this
/// list waited for last.
[[nodiscard]] std::vector<UnitIndex> criticalUnits(const StepGraph& graph, const std::vector<Binding>& bindings);

} // namespace bubblescope
