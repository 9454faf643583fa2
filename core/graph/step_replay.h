#pragma once

#include "core/graph/step_graph.h"

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope {

/// Information about a step that its timeline does not contain.
struct StepKnowledge {
    TimeNs clock_error{0};     ///< delays up to this length are ignored
    bool records_lost = false; ///< if true, delays without a record are ignored
    /// Time intervals in which a rank re-executed work: per rank, sorted, disjoint, on the step's clock. May be empty.
    std::span<const std::vector<std::pair<TimeNs, TimeNs>>> replays = {};
};

/// The delays of a graph's units, by cause. These delays remain when the step is replayed with different times. Each
/// list has one entry per unit, or is empty if all are 0.
///
/// Delays on the critical path are used in full, because they made the step longer. Delays off the path had no effect
/// on the step. A unit that starts late off the path usually waits for another rank, for instance in a blocking send
/// whose receiver is busy, and no record shows this. Such a wait disappears when the other rank becomes faster. Off the
/// path, `peer` and `late` are therefore capped at their means on the path, where a late start affects the step time.
/// A replay of the observed times with these delays is as long as the observed step.
struct DelayParts {
    std::vector<TimeNs> communication; ///< a transfer of the unit's rank was in progress
    std::vector<TimeNs> peer;          ///< no transfer in progress, but the rank was in a send, receive or wait
    std::vector<TimeNs> replay;        ///< neither of these, but the rank re-executed work
    std::vector<TimeNs> late;          ///< none of the causes above, and no records were lost

    /// Sum of all parts, per unit; empty if there are none.
    [[nodiscard]] std::vector<TimeNs> total() const;
};

/// Splits each delay (from the earliest possible start of the unit to its actual start) by the records during the
/// delay. Linear, apart from sorting any unsorted records.
[[nodiscard]] DelayParts splitDelays(const StepTimeline& step, const StepGraph& graph,
                                     const std::vector<Binding>& bindings, const StepKnowledge& known = {});

/// An observed step, analysed once and replayed many times.
struct ObservedStep {
    StepGraph graph;
    std::vector<Binding> latest;
    DelayParts delays;

    explicit ObservedStep(const StepTimeline& step, const StepKnowledge& known = {},
                          std::shared_ptr<const ExecutedUnits> ran = {});
    /// Switches to another step, like StepGraph::assign().
    bool assign(const StepTimeline& step, const StepKnowledge& known = {},
                std::shared_ptr<const ExecutedUnits> ran = {});
};

/// The times for a replay of a step, one entry per unit.
struct StepTimes {
    std::span<const TimeNs> durations;
    /// In the same layout as the graph's; null = transfers take no time.
    const InputTimes* transfers = nullptr;
    std::span<const TimeNs> delays; ///< time between the earliest possible and the actual start of each unit; empty =
                                    ///< none
    /// StepGraph::holds; empty = no rank waits for a send. The lengths of holds are derived from `transfers`. Holds
    /// apply only in the observed order.
    std::span<const Hold> holds = {};
};

/// Replays a step's units with different times. Each unit starts as soon as its rank is free and its inputs have
/// arrived. Valid for all steps with the same order (StepGraph::assign).
class StepReplay {
public:
    /// `order` is a result of StepGraph::orderBy(); empty = as observed.
    explicit StepReplay(const StepGraph& graph, std::span<const UnitIndex> order = {});

    /// The length of the replayed step. Trailing ops do not count. Linear in units.
    TimeNs run(const StepTimes& times) { return run(times, ends_); }
    /// As above, for concurrent calls by several threads, each with its own `ends`.
    TimeNs run(const StepTimes& times, TaskTimes& ends) const;
    /// The end of a unit in the latest run() that was called without `ends`.
    [[nodiscard]] TimeNs end(UnitIndex unit) const { return ends_[unit]; }

private:
    std::shared_ptr<const TaskGraph> tasks_; ///< StepGraph::tasks() in the order of the replay
    bool reordered_ = false;
    std::vector<UnitIndex> last_; ///< per rank; kNoUnit for a rank without units
    TaskTimes ends_;              ///< of the latest run
};

} // namespace bubblescope
