#pragma once

#include "core/base/time.h"
#include "core/graph/task_graph.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

/// The longest-path engine: the one place where times follow from a TaskGraph. Simulation, replays of observed steps,
/// what-if, the search for a partition and consolidation differ in the graph that they build and in the times that they
/// put on it; both come to the passes as functions that are compiled into the loop:
///
///     lag(edge)            what passes from a predecessor's time to the earliest time that it allows
///     finish(task, ready)  a task's time, where its predecessors allow `ready`
///
/// A task's "time" is its end or its start, as the caller's two functions have it. All passes are linear in tasks and
/// edges, keep nothing and allocate nothing. Sums must fit into 64 bits.

namespace bubblescope {

/// An edge of a TaskGraph as passes show it to lag().
struct EdgePlace {
    TaskIndex task = kNoTask; ///< that waits
    std::size_t slot = 0;     ///< position among its predecessors; a constant in loops over rows
    std::size_t edge = 0;     ///< number of the edge, see TaskGraph::firstEdge()
};

/// For graphs whose edges take no time.
struct NoLag {
    TimeNs operator()(const EdgePlace&) const { return TimeNs{0}; }
};

/// One time a task, and one of kNoTask: that of the origin, which all tasks wait for.
class TaskTimes {
public:
    explicit TaskTimes(std::size_t tasks = 0, TimeNs origin = TimeNs{0}) : values_(tasks + 1, origin) {}

    /// All times become the origin's. Keeps the memory.
    void reset(std::size_t tasks, TimeNs origin = TimeNs{0}) { values_.assign(tasks + 1, origin); }

    [[nodiscard]] std::size_t size() const { return values_.size() - 1; }
    [[nodiscard]] TimeNs operator[](TaskIndex task) const { return values_[at(task)]; }
    [[nodiscard]] TimeNs& operator[](TaskIndex task) { return values_[at(task)]; }
    /// Without the origin.
    [[nodiscard]] std::span<const TimeNs> tasks() const { return std::span(values_).subspan(1); }
    [[nodiscard]] std::span<TimeNs> tasks() { return std::span(values_).subspan(1); }

private:
    static std::size_t at(TaskIndex task) { return static_cast<std::size_t>(task + 1); }

    std::vector<TimeNs> values_;
};

namespace longest_path_detail {

/// Calls visit(width) with the width of a graph's rows as a constant; 0 for lists.
template <class Visit>
void withWidth(const TaskGraph& graph, Visit visit) {
    switch (graph.width()) {
    case 1: return visit(std::integral_constant<std::size_t, 1>{});
    case 2: return visit(std::integral_constant<std::size_t, 2>{});
    case 3: return visit(std::integral_constant<std::size_t, 3>{});
    default: return visit(std::integral_constant<std::size_t, 0>{});
    }
}

/// Calls visit(from, edge) for each predecessor entry of a place.
template <std::size_t kWidth, class Visit>
void eachPredecessor(const TaskGraph& graph, const TaskIndex* sources, std::size_t place, TaskIndex task, Visit visit) {
    if constexpr (kWidth > 0) {
        const std::size_t first = place * kWidth;
        [&]<std::size_t... kSlots>(std::index_sequence<kSlots...>) {
            (visit(sources[first + kSlots], EdgePlace{task, kSlots, first + kSlots}), ...);
        }
        (std::make_index_sequence<kWidth>{});
    } else {
        const std::size_t first = graph.firstEdge(place);
        const std::size_t count = graph.firstEdge(place + 1) - first;
        for (std::size_t slot = 0; slot < count; ++slot)
            visit(sources[first + slot], EdgePlace{task, slot, first + slot});
    }
}

} // namespace longest_path_detail

/// From the first task to the last: times[task] = finish(task, ready), where `ready` is the latest of the origin's time
/// and times[predecessor] + lag(edge). In rows, lag() is asked for kNoTask entries too and must return 0 or less there.
template <class Lag, class Finish>
void forwardPass(const TaskGraph& graph, TaskTimes& times, Lag lag, Finish finish) {
    longest_path_detail::withWidth(graph, [&]<std::size_t kWidth>(std::integral_constant<std::size_t, kWidth>) {
        const TaskIndex* const sources = graph.edgeSources().data();
        const TimeNs origin = times[kNoTask];
        for (std::size_t place = 0; place < graph.size(); ++place) {
            const TaskIndex task = graph.taskAt(place);
            TimeNs ready = origin;
            longest_path_detail::eachPredecessor<kWidth>(
                graph, sources, place, task,
                [&](TaskIndex from, const EdgePlace& edge) { ready = std::max(ready, times[from] + lag(edge)); });
            times[task] = finish(task, ready);
        }
    });
}

/// From the last task to the first: lowers latest[predecessor] to limit(task) - lag(edge), where that is less. `latest`
/// holds what limits each task from the outside beforehand. limit(task) is asked when all that wait for the task have
/// lowered latest[task]. The origin's entry is undefined afterwards.
template <class Lag, class Limit>
void backwardPass(const TaskGraph& graph, TaskTimes& latest, Lag lag, Limit limit) {
    longest_path_detail::withWidth(graph, [&]<std::size_t kWidth>(std::integral_constant<std::size_t, kWidth>) {
        const TaskIndex* const sources = graph.edgeSources().data();
        for (std::size_t place = graph.size(); place-- > 0;) {
            const TaskIndex task = graph.taskAt(place);
            const TimeNs last = limit(task);
            longest_path_detail::eachPredecessor<kWidth>(graph, sources, place, task,
                                                         [&](TaskIndex from, const EdgePlace& edge) {
                                                             latest[from] = std::min(latest[from], last - lag(edge));
                                                         });
        }
    });
}

/// The predecessor that allowed a task to begin last; of several the first in the task's list.
struct LatestPredecessor {
    TaskIndex task = kNoTask; ///< kNoTask without predecessors
    std::size_t slot = 0;     ///< its position among them
    TimeNs arrival{0};        ///< its time plus lag; the origin's time without predecessors
};

/// Of the task at a place. time(task) need not come from a pass: observed times have a latest predecessor too.
template <class Time, class Lag>
LatestPredecessor latestPredecessor(const TaskGraph& graph, std::size_t place, Time time, Lag lag,
                                    TimeNs origin = TimeNs{0}) {
    LatestPredecessor latest{kNoTask, 0, origin};
    const TaskIndex task = graph.taskAt(place);
    const std::size_t first = graph.firstEdge(place);
    const std::span<const TaskIndex> predecessors = graph.predecessors(place);
    for (std::size_t slot = 0; slot < predecessors.size(); ++slot) {
        const TaskIndex from = predecessors[slot];
        if (from == kNoTask) continue;
        const TimeNs arrival = time(from) + lag(EdgePlace{task, slot, first + slot});
        if (latest.task == kNoTask || arrival > latest.arrival) latest = {from, slot, arrival};
    }
    return latest;
}

/// The ends of a graph's tasks for durations that change a little at a time: set() some, update(), read, undo(). An
/// update costs what the change reaches, not the whole graph, so that trying each of 1,000 ranks in turn does not cost
/// 1,000 passes. Edges take no time. Refers to the graph, whose tasks must be numbered in order, and to the lists of
/// successors; both must outlive it. Not for several threads at once.
class IncrementalEnds {
public:
    IncrementalEnds(const TaskGraph& graph, const TaskLists& successors, std::vector<TimeNs> durations);

    [[nodiscard]] TimeNs duration(TaskIndex task) const { return durations_[at(task)]; }
    [[nodiscard]] TimeNs end(TaskIndex task) const { return ends_[task]; }
    [[nodiscard]] TimeNs start(TaskIndex task) const { return end(task) - duration(task); }

    /// Counts from the next update() on.
    void set(TaskIndex task, TimeNs duration);
    /// Recomputes the ends that the latest set() calls change.
    void update();
    /// Restores the durations and ends of the construction.
    void undo();

private:
    static std::size_t at(TaskIndex task) { return static_cast<std::size_t>(task); }
    void markDirty(TaskIndex task);

    const TaskGraph& graph_;
    const TaskLists& successors_;
    std::vector<TimeNs> durations_;
    TaskTimes ends_;
    std::vector<std::uint64_t> dirty_; ///< a bit a task
    std::size_t first_dirty_;          ///< no word of `dirty_` before it is set
    struct Previous {
        TaskIndex task;
        TimeNs value;
    };
    std::vector<Previous> previous_durations_;
    std::vector<Previous> previous_ends_;
};

} // namespace bubblescope
