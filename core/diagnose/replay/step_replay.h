#pragma once

#include "core/diagnose/replay/delay_parts.h"
#include "core/diagnose/replay/dependencies.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope {

/// A step as it was observed, read once for all who replay it.
struct ObservedStep {
    StepGraph graph;
    std::vector<Binding> latest;
    DelayParts delays;

    explicit ObservedStep(const StepTimeline& step, const StepKnowledge& known = {});
};

/// The times on which a step is replayed, one entry a unit.
struct StepTimes {
    std::span<const TimeNs> durations;
    /// Laid out as in the graph; null = transfers take no time.
    const std::array<std::vector<TimeNs>, 2>* transfers = nullptr;
    std::span<const TimeNs> delays; ///< how long after it could a unit starts; empty = at once
};

/// Runs a step's units again with other times: each starts as soon as its rank is free and its inputs are there.
class StepReplay {
public:
    /// `order` is one of StepGraph::orderBy(); empty = as observed.
    explicit StepReplay(const StepGraph& graph, std::span<const UnitIndex> order = {});

    /// The step's length. Trailing ops do not make it longer. Linear in units.
    TimeNs run(const StepTimes& times);
    /// In the latest run.
    [[nodiscard]] TimeNs end(UnitIndex unit) const {
        return ends_[static_cast<std::size_t>(node_[StepGraph::at(unit)])];
    }

private:
    std::vector<UnitIndex> order_;      ///< empty = 0, 1, 2, …
    std::vector<std::uint8_t> crosses_; ///< per place in the order: a bit a side whose input comes by a transfer
    DependencyGraph dependencies_;      ///< each unit behind its transfers
    std::vector<NodeId> node_;          ///< per unit
    std::vector<NodeId> last_;          ///< per rank that has units
    std::vector<TimeNs> durations_;     ///< per node, of the latest run
    std::vector<TimeNs> ends_;          ///< the same
};

} // namespace bubblescope
