#pragma once

#include "core/graph/step_graph.h"

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope {

/// Data about a step besides its timeline.
struct StepKnowledge {
    TimeNs clock_error{0};     ///< delays up to this length count as unknown
    bool records_lost = false; ///< delays without a record count as unknown
    /// Per rank, sorted and without overlaps, on the step's clock: re-executed work. May be empty.
    std::span<const std::vector<std::pair<TimeNs, TimeNs>>> replays = {};
};

/// The delays of a graph's units that remain when the step is replayed with other times, by cause. Each list has one
/// entry per unit, or is empty if all are 0.
///
/// On the critical path, a delay remains in full, because it made the step longer. Delays off the path did not. A unit
/// that starts late there usually waits for another rank in a way that no record shows, for instance in a blocking send
/// whose receiver is busy. Such a wait vanishes when that rank gets faster. Off the path, `peer` and `late` are
/// therefore capped at their means on the path, where the cost of a late start affects the step time. With these delays
/// and the observed times, the replayed step is as long as the observed one.
struct DelayParts {
    std::vector<TimeNs> communication; ///< a transfer of the unit's rank was in progress
    std::vector<TimeNs> peer;          ///< no transfer was in progress, but its rank was in a send, receive or wait
    std::vector<TimeNs> replay;        ///< none of these, but the rank re-executed work
    std::vector<TimeNs> late;          ///< none of these, and no records were lost

    /// Sum of all parts, per unit; empty if there are none.
    [[nodiscard]] std::vector<TimeNs> total() const;
};

/// Splits each delay (from when a unit could have started to when it did) according to the records in that time.
/// Linear, apart from sorting if records are not sorted.
[[nodiscard]] DelayParts splitDelays(const StepTimeline& step, const StepGraph& graph,
                                     const std::vector<Binding>& bindings, const StepKnowledge& known = {});

/// An observed step, analysed once for all its replays.
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
    /// Laid out as in the graph; null = transfers take no time.
    const InputTimes* transfers = nullptr;
    std::span<const TimeNs> delays; ///< time between the earliest possible and the actual start of each unit; empty =
                                    ///< none
    /// StepGraph::holds; empty = no rank waits for a send. Their lengths follow from `transfers`, and they apply only
    /// in the observed order.
    std::span<const Hold> holds = {};
};

/// Replays a step's units with other times: each starts as soon as its rank is free and its inputs have arrived. Valid
/// for all steps of one order (StepGraph::assign).
class StepReplay {
public:
    /// `order` is a result of StepGraph::orderBy(); empty = as observed.
    explicit StepReplay(const StepGraph& graph, std::span<const UnitIndex> order = {});

    /// The length of the replayed step. Trailing ops do not make it longer. Linear in units.
    TimeNs run(const StepTimes& times) { return run(times, ends_); }
    /// As above, for use by several threads at once, each with its own `ends`.
    TimeNs run(const StepTimes& times, TaskTimes& ends) const;
    /// The end of a unit in the latest run() that was called without `ends`.
    [[nodiscard]] TimeNs end(UnitIndex unit) const { return ends_[unit]; }

private:
    std::shared_ptr<const TaskGraph> tasks_; ///< like StepGraph::tasks(), in the replay's order
    bool reordered_ = false;
    std::vector<UnitIndex> last_; ///< per rank; kNoUnit for a rank without units
    TaskTimes ends_;              ///< of the latest run
};

} // namespace bubblescope
