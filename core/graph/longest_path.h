#pragma once

#include "core/base/large_list.h"
#include "core/base/time.h"
#include "core/graph/task_graph.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

/// The longest-path engine, the only code that computes times from a graph of tasks. Simulation, replays of observed
/// steps, what-if, partition search, bounds and consolidation differ only in the graph and its times. The caller passes
/// two functions, which are compiled into the loop:
///
///     lag(edge)            minimum time from a predecessor's time to the task's
///     finish(task, ready)  the task's time if its predecessors allow `ready`
///
/// A task's "time" is its end or its start, depending on the functions passed. A graph that is evaluated many times is
/// stored as a TaskGraph. A graph that is evaluated once can be traversed without storing it (walkedPass). All passes
/// are linear in tasks and edges and allocate no memory. Sums must fit into 64 bits.

namespace bubblescope {

/// An edge of a TaskGraph, as passed to lag().
struct EdgePlace {
    TaskIndex from = kNoTask; ///< the predecessor
    TaskIndex task = kNoTask; ///< the waiting task
    std::size_t slot = 0;     ///< index among the task's predecessors; constant in loops over rows
    std::size_t edge = 0;     ///< number of the edge, see TaskGraph::firstEdge()
};

/// lag() for graphs whose edges take no time.
struct NoLag {
    TimeNs operator()(const EdgePlace&) const { return TimeNs{0}; }
};

/// One time per task. The entry for kNoTask is the time of the origin, which all tasks wait for.
class TaskTimes {
public:
    explicit TaskTimes(std::size_t tasks = 0, TimeNs origin = TimeNs{0}) {
        reserveLarge(values_, tasks + 1);
        reset(tasks, origin);
    }

    /// Sets all times to the origin's. Does not release memory.
    void reset(std::size_t tasks, TimeNs origin = TimeNs{0}) { values_.assign(tasks + 1, origin); }
    /// Resizes without clearing. If the number of tasks is unchanged, all times are preserved. Otherwise, set each
    /// task's time before reading it; only the origin's is set (to 0 if there were no tasks).
    void resize(std::size_t tasks) { resizeLarge(values_, tasks + 1); }

    [[nodiscard]] std::size_t size() const { return values_.size() - 1; }
    [[nodiscard]] TimeNs operator[](TaskIndex task) const { return values_[at(task)]; }
    [[nodiscard]] TimeNs& operator[](TaskIndex task) { return values_[at(task)]; }
    /// All times except the origin's.
    [[nodiscard]] std::span<const TimeNs> tasks() const { return std::span(values_).subspan(1); }
    [[nodiscard]] std::span<TimeNs> tasks() { return std::span(values_).subspan(1); }

private:
    static std::size_t at(TaskIndex task) { return static_cast<std::size_t>(task + 1); }

    ListToFill<TimeNs> values_;
};

namespace longest_path_detail {

/// Calls visit(width) with the row width of a graph as a compile-time constant; 0 for lists.
template <class Visit>
void withWidth(const TaskGraph& graph, Visit visit) {
    switch (graph.width()) {
    case 1: return visit(std::integral_constant<std::size_t, 1>{});
    case 2: return visit(std::integral_constant<std::size_t, 2>{});
    case 3: return visit(std::integral_constant<std::size_t, 3>{});
    default: return visit(std::integral_constant<std::size_t, 0>{});
    }
}

/// The arrays of a graph that the loops read.
struct Arrays {
    const TaskIndex* sources;
    const TaskIndex* begin; ///< per position, plus the end; null for rows
    const TaskIndex* order; ///< null if positions equal task numbers
    std::size_t size;

    explicit Arrays(const TaskGraph& graph)
        : sources(graph.edgeSources().data()), begin(graph.width() == 0 ? graph.listBegin().data() : nullptr),
          order(graph.order().empty() ? nullptr : graph.order().data()), size(graph.size()) {}
    [[nodiscard]] TaskIndex taskAt(std::size_t place) const {
        return order == nullptr ? static_cast<TaskIndex>(place) : order[place];
    }
};

/// Calls visit(edge) for each predecessor entry at a position. The first entry of a row is visited last: it is usually
/// the task that was computed last, so its time is available last.
template <std::size_t kWidth, class Visit>
void eachPredecessor(const Arrays& graph, std::size_t place, TaskIndex task, Visit visit) {
    if constexpr (kWidth > 0) {
        const std::size_t first = place * kWidth;
        [&]<std::size_t... kBack>(std::index_sequence<kBack...>) {
            (visit(EdgePlace{graph.sources[first + kWidth - 1 - kBack], task, kWidth - 1 - kBack,
                             first + kWidth - 1 - kBack}),
             ...);
        }
        (std::make_index_sequence<kWidth>{});
    } else {
        const auto first = static_cast<std::size_t>(graph.begin[place]);
        const auto end = static_cast<std::size_t>(graph.begin[place + 1]);
        for (std::size_t edge = first; edge < end; ++edge)
            visit(EdgePlace{graph.sources[edge], task, edge - first, edge});
    }
}

/// forwardPass() over one layout. A task usually waits for the previous one, so the loops minimise the latency from one
/// time to the next. For lists, the maximum uses a well-predicted branch; for rows, it is branch-free.
template <std::size_t kWidth, bool kOrdered, class Lag, class Finish>
void forwardPlaces(const TaskGraph& graph, TaskTimes& times, Lag lag, Finish finish) {
    TimeNs* const values = times.tasks().data(); // kNoTask is -1, so its time is stored before the first entry
    const TaskIndex* const sources = graph.edgeSources().data();
    const TaskIndex* const order = graph.order().data();
    const auto size = static_cast<TaskIndex>(graph.size());
    const auto taskAt = [order](TaskIndex place) { return kOrdered ? order[place] : place; };
    if constexpr (kWidth > 0) {
        for (TaskIndex place = 0; place < size; ++place) {
            const TaskIndex task = taskAt(place);
            const std::size_t first = static_cast<std::size_t>(place) * kWidth;
            const auto arrival = [&](std::size_t slot) {
                const EdgePlace edge{sources[first + slot], task, slot, first + slot};
                return values[edge.from] + lag(edge);
            };
            // The first slot is read last, because it usually contains the task that was computed just before.
            TimeNs ready = arrival(kWidth - 1);
            for (std::size_t slot = kWidth - 1; slot-- > 0;) {
                const TimeNs other = arrival(slot);
                ready = other > ready ? other : ready;
            }
            values[task] = finish(task, ready);
        }
    } else {
        const TaskIndex* const begin = graph.listBegin().data();
        const TimeNs origin = times[kNoTask];
        const TaskIndex* entry = sources;
        for (TaskIndex place = 0; place < size; ++place) {
            const TaskIndex task = taskAt(place);
            const TaskIndex* const first = entry;
            const TaskIndex* const end = sources + begin[place + 1];
            TimeNs ready = origin;
            for (; entry != end; ++entry) {
                const EdgePlace at{*entry, task, static_cast<std::size_t>(entry - first),
                                   static_cast<std::size_t>(entry - sources)};
                if constexpr (std::is_same_v<Lag, NoLag>) {
                    ready = std::max(ready, values[at.from]);
                } else {
                    ready = std::max(ready, values[at.from] + lag(at));
                }
            }
            values[task] = finish(task, ready);
        }
    }
}

} // namespace longest_path_detail

/// Visits tasks from first to last and sets times[task] = finish(task, ready), where `ready` is the latest of the
/// origin's time and times[predecessor] + lag(edge). For rows, lag() is also called for kNoTask entries and must return
/// 0 for them, and no lag may be negative.
template <class Lag, class Finish>
void forwardPass(const TaskGraph& graph, TaskTimes& times, Lag lag, Finish finish) {
    longest_path_detail::withWidth(graph, [&]<std::size_t kWidth>(std::integral_constant<std::size_t, kWidth>) {
        if (graph.order().empty()) {
            longest_path_detail::forwardPlaces<kWidth, false>(graph, times, lag, finish);
        } else {
            longest_path_detail::forwardPlaces<kWidth, true>(graph, times, lag, finish);
        }
    });
}

/// forwardPass() over a graph that is not stored. walk(visit) calls visit(task, from...) for each task after all tasks
/// that it waits for. The task's time is stored in times[task.number]; `from` are task numbers, and kNoTask stands for
/// the origin. Consecutive tasks on one resource (a rank, a stream) may share a number, so finish() finds the previous
/// task's time there. Edges take no time. Returns the result of walk().
template <class Walk, class Finish>
decltype(auto) walkedPass(const Walk& walk, TaskTimes& times, Finish& finish) {
    TimeNs* const values = times.tasks().data();
    return walk([values, &finish](const auto& task, auto first, auto... others) {
        TimeNs ready = values[first];
        ((ready = values[others] > ready ? values[others] : ready), ...);
        values[task.number] = finish(task, ready);
    });
}

/// Visits tasks from last to first and lowers latest[predecessor] to limit(task) - lag(edge) if that is less. Before
/// the call, `latest` contains limits imposed by tasks outside the graph. limit(task) is called once all successors
/// have lowered latest[task]. Afterwards the origin's entry is undefined.
template <class Lag, class Limit>
void backwardPass(const TaskGraph& graph, TaskTimes& latest, Lag lag, Limit limit) {
    longest_path_detail::withWidth(graph, [&]<std::size_t kWidth>(std::integral_constant<std::size_t, kWidth>) {
        const longest_path_detail::Arrays arrays(graph);
        TimeNs* const values = latest.tasks().data();
        for (std::size_t place = arrays.size; place-- > 0;) {
            const TaskIndex task = arrays.taskAt(place);
            const TimeNs last = limit(task);
            longest_path_detail::eachPredecessor<kWidth>(arrays, place, task,
                                                         [values, last, lag](const EdgePlace& edge) {
                                                             TimeNs& from = values[edge.from];
                                                             from = std::min(from, last - lag(edge));
                                                         });
        }
    });
}

/// The predecessor that arrived last at a task; in a tie, the first one in the task's list.
struct LatestPredecessor {
    TaskIndex task = kNoTask; ///< kNoTask if there are no predecessors
    std::size_t slot = 0;     ///< index among the task's predecessors
    TimeNs arrival{0};        ///< time of the predecessor plus lag; the origin's time if there is none
};

/// The latest predecessor of the task at a position. time(task) may come from a pass or from an observation.
template <class Time, class Lag>
LatestPredecessor latestPredecessor(const TaskGraph& graph, std::size_t place, Time time, Lag lag,
                                    TimeNs origin = TimeNs{0}) {
    LatestPredecessor latest{kNoTask, 0, origin};
    longest_path_detail::withWidth(graph, [&]<std::size_t kWidth>(std::integral_constant<std::size_t, kWidth>) {
        const longest_path_detail::Arrays arrays(graph);
        longest_path_detail::eachPredecessor<kWidth>(arrays, place, arrays.taskAt(place), [&](const EdgePlace& edge) {
            if (edge.from == kNoTask) return;
            const TimeNs arrival = time(edge.from) + lag(edge);
            const bool tie = arrival == latest.arrival && edge.slot < latest.slot;
            if (latest.task == kNoTask || arrival > latest.arrival || tie) {
                latest = {edge.from, edge.slot, arrival};
            }
        });
    });
    return latest;
}

/// The ends of a graph's tasks, recomputed after changes to a few durations: set(), update(), read the ends, undo(). An
/// update takes time proportional to the number of tasks whose ends change, so evaluating one change for each of 1,000
/// ranks costs much less than 1,000 passes. Edges take no time. Stores references to the graph, which must have lists
/// and tasks numbered in order, and to the lists of successors. Both must outlive the object. Not thread-safe.
class IncrementalEnds {
public:
    IncrementalEnds(const TaskGraph& graph, const TaskLists& successors, std::vector<TimeNs> durations);

    [[nodiscard]] TimeNs duration(TaskIndex task) const { return durations_[at(task)]; }
    [[nodiscard]] TimeNs end(TaskIndex task) const { return ends_[task]; }
    [[nodiscard]] TimeNs start(TaskIndex task) const { return end(task) - duration(task); }

    /// Takes effect with the next update().
    void set(TaskIndex task, TimeNs duration);
    /// Recomputes the ends affected by set() calls since the last update.
    void update();
    /// Restores the original durations and ends.
    void undo();

private:
    static std::size_t at(TaskIndex task) { return static_cast<std::size_t>(task); }
    void markDirty(TaskIndex task);

    const TaskGraph& graph_;
    const TaskLists& successors_;
    std::vector<TimeNs> durations_;
    TaskTimes ends_;
    std::vector<std::uint64_t> dirty_; ///< one bit per task
    std::size_t first_dirty_;          ///< index of the first word of `dirty_` that may be set
    struct Previous {
        TaskIndex task;
        TimeNs value;
    };
    std::vector<Previous> previous_durations_;
    std::vector<Previous> previous_ends_;
};

} // namespace bubblescope
