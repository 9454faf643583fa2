#pragma once

#include "core/graph/delay_parts.h"

#include <array>
#include <span>
#include <vector>

namespace bubblescope {

/// A step as it was observed, read once for all who replay it.
struct ObservedStep {
    StepGraph graph;
    std::vector<Binding> latest;
    DelayParts delays;

    explicit ObservedStep(const StepTimeline& step, const StepKnowledge& known = {});
    /// Becomes another step; as StepGraph::assign().
    bool assign(const StepTimeline& step, const StepKnowledge& known = {});
};

/// The times on which a step is replayed, one entry a unit.
struct StepTimes {
    std::span<const TimeNs> durations;
    /// Laid out as in the graph; null = transfers take no time.
    const std::array<std::vector<TimeNs>, 2>* transfers = nullptr;
    std::span<const TimeNs> delays; ///< how long after it could a unit starts; empty = at once
};

/// Runs a step's units again with other times: each starts as soon as its rank is free and its inputs are there. Holds
/// for all steps of one order (StepGraph::assign).
class StepReplay {
public:
    /// `order` is one of StepGraph::orderBy(); empty = as observed.
    explicit StepReplay(const StepGraph& graph, std::span<const UnitIndex> order = {});

    /// The step's length. Trailing ops do not make it longer. Linear in units.
    TimeNs run(const StepTimes& times);
    /// In the latest run.
    [[nodiscard]] TimeNs end(UnitIndex unit) const { return ends_[unit]; }

private:
    TaskGraph tasks_;             ///< as StepGraph::tasks(), in the replay's order
    std::vector<UnitIndex> last_; ///< per rank; kNoUnit for a rank without units
    TaskTimes ends_;              ///< of the latest run
};

} // namespace bubblescope
