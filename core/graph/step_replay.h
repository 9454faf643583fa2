#pragma once

#include "core/graph/step_graph.h"

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope {

/// What is known of a step besides its timeline.
struct StepKnowledge {
    TimeNs clock_error{0};     ///< delays up to this count as unknown
    bool records_lost = false; ///< delays without a record count as unknown
    /// Per rank, sorted and without overlaps, on the step's clock: replayed work. May be empty.
    std::span<const std::vector<std::pair<TimeNs, TimeNs>>> replays = {};
};

/// The delays of a graph's units that stay when the step is replayed with other times, by cause: one entry a unit in
/// each list; a list is empty where all are 0.
///
/// On the critical path all of a delay stays, since it made the step longer. Off the path it did not. A unit that
/// begins late there mostly waits for another rank in a way that no record shows, for instance in a blocking send whose
/// receiver is busy. Such a wait vanishes when that rank gets faster. Off the path, `peer` and `late` are therefore
/// limited to their means on the path: the cost of a start where it matters. With these delays and the observed times
/// the replayed step is as long as the observed one.
struct DelayParts {
    std::vector<TimeNs> communication; ///< a transfer of the unit's rank was under way
    std::vector<TimeNs> peer;          ///< none was, but its rank was in a send, receive or wait
    std::vector<TimeNs> replay;        ///< nor that, but it replayed work
    std::vector<TimeNs> late;          ///< none of these, and no records were lost

    /// Of all parts, per unit; empty where there is none.
    [[nodiscard]] std::vector<TimeNs> total() const;
};

/// Splits each delay, the time from when a unit could have begun to when it did, by the records of that time. Linear,
/// but for sorting where records are not sorted.
[[nodiscard]] DelayParts splitDelays(const StepTimeline& step, const StepGraph& graph,
                                     const std::vector<Binding>& bindings, const StepKnowledge& known = {});

/// An observed step, read once for all its replays.
struct ObservedStep {
    StepGraph graph;
    std::vector<Binding> latest;
    DelayParts delays;

    explicit ObservedStep(const StepTimeline& step, const StepKnowledge& known = {},
                          std::shared_ptr<const ExecutedUnits> ran = {});
    /// Becomes another step; as StepGraph::assign().
    bool assign(const StepTimeline& step, const StepKnowledge& known = {},
                std::shared_ptr<const ExecutedUnits> ran = {});
};

/// The times on which a step is replayed, one entry a unit.
struct StepTimes {
    std::span<const TimeNs> durations;
    /// Laid out as in the graph; null = transfers take no time.
    const InputTimes* transfers = nullptr;
    std::span<const TimeNs> delays; ///< how long after it could a unit starts; empty = at once
    /// StepGraph::holds; empty = no rank waits for a send. They last as long as `transfers` say, and count in the
    /// observed order only.
    std::span<const Hold> holds = {};
};

/// Replays a step's units with other times: each starts as soon as its rank is free and its inputs are there. Valid for
/// all steps of one order (StepGraph::assign).
class StepReplay {
public:
    /// `order` is one of StepGraph::orderBy(); empty = as observed.
    explicit StepReplay(const StepGraph& graph, std::span<const UnitIndex> order = {});

    /// The step's length. Trailing ops do not make it longer. Linear in units.
    TimeNs run(const StepTimes& times) { return run(times, ends_); }
    /// The same for several threads at once, each with ends of its own.
    TimeNs run(const StepTimes& times, TaskTimes& ends) const;
    /// In the latest run that was given no ends.
    [[nodiscard]] TimeNs end(UnitIndex unit) const { return ends_[unit]; }

private:
    std::shared_ptr<const TaskGraph> tasks_; ///< as StepGraph::tasks(), in the replay's order
    bool reordered_ = false;
    std::vector<UnitIndex> last_; ///< per rank; kNoUnit for a rank without units
    TaskTimes ends_;              ///< of the latest run
};

} // namespace bubblescope
