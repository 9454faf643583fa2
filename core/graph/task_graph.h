#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope {

/// Number of a task in a TaskGraph.
using TaskIndex = std::int32_t;
inline constexpr TaskIndex kNoTask = -1;

/// Lists of tasks in compressed sparse row format, one list per task: 4 bytes per task and 4 per entry. Immutable.
class TaskLists {
public:
    TaskLists() = default;
    /// The list of task `i` is entries[begin[i] … begin[i + 1]).
    TaskLists(std::vector<TaskIndex> begin, std::vector<TaskIndex> entries)
        : begin_(std::move(begin)), entries_(std::move(entries)) {}

    [[nodiscard]] std::size_t size() const { return begin_.size() - 1; }
    [[nodiscard]] std::span<const TaskIndex> operator[](std::size_t task) const {
        const auto begin = static_cast<std::size_t>(begin_[task]);
        return std::span(entries_).subspan(begin, static_cast<std::size_t>(begin_[task + 1]) - begin);
    }
    [[nodiscard]] const std::vector<TaskIndex>& begin() const { return begin_; }
    [[nodiscard]] const std::vector<TaskIndex>& entries() const { return entries_; }

private:
    std::vector<TaskIndex> begin_{0};
    std::vector<TaskIndex> entries_;
};

/// `to` waits for `from`.
struct TaskEdge {
    TaskIndex from = kNoTask;
    TaskIndex to = kNoTask;
};

/// The predecessors or successors of each task, in the order of `edges`. Linear.
[[nodiscard]] TaskLists predecessorLists(std::size_t tasks, std::span<const TaskEdge> edges);
[[nodiscard]] TaskLists successorLists(std::size_t tasks, std::span<const TaskEdge> edges);

/// An order in which each task comes after its predecessors. The search is depth-first, so that chains of tasks become
/// contiguous in memory if tasks are renumbered in this order. Tasks on a cycle, and all tasks that depend on them, are
/// left out. Linear.
[[nodiscard]] std::vector<TaskIndex> topologicalOrder(const TaskLists& successors, std::span<const TaskEdge> edges);

/// A directed acyclic graph of tasks, without times but with a topological order. longest_path.h computes times on it.
/// Immutable, so that any number of evaluations and threads can share it.
///
/// A task's position is its index in that order. If tasks are already numbered in a topological order, positions equal
/// task numbers and the order needs no memory.
class TaskGraph {
public:
    TaskGraph() = default;

    /// `predecessors` lists, for each position, tasks at earlier positions. An empty `order` stands for 0, 1, 2, ….
    explicit TaskGraph(TaskLists predecessors, std::vector<TaskIndex> order = {})
        : predecessors_(std::move(predecessors)), order_(std::move(order)) {}

    /// As above, for tasks with at most `width` predecessors (at most kMaxWidth): `rows` holds `width` entries per
    /// position, padded with kNoTask. Passes over rows are branch-free, which makes them about twice as fast.
    TaskGraph(std::size_t width, std::vector<TaskIndex> rows, std::vector<TaskIndex> order = {})
        : width_(width), rows_(std::move(rows)), order_(std::move(order)) {}
    static constexpr std::size_t kMaxWidth = 3;

    [[nodiscard]] std::size_t size() const { return width_ == 0 ? predecessors_.size() : rows_.size() / width_; }
    /// Number of entries per position for rows; 0 for lists.
    [[nodiscard]] std::size_t width() const { return width_; }
    /// The predecessors of the task at a position, including the kNoTask entries of rows.
    [[nodiscard]] std::span<const TaskIndex> predecessors(std::size_t place) const {
        return width_ == 0 ? predecessors_[place] : std::span(rows_).subspan(place * width_, width_);
    }
    /// Number of the first edge to a position. Edges are numbered by position, including the kNoTask entries of
    /// rows.
    [[nodiscard]] std::size_t firstEdge(std::size_t place) const {
        return width_ == 0 ? static_cast<std::size_t>(predecessors_.begin()[place]) : place * width_;
    }
    /// firstEdge() of each position, and of the end; lists only.
    [[nodiscard]] const std::vector<TaskIndex>& listBegin() const { return predecessors_.begin(); }
    /// Number of edges; all edge numbers are smaller.
    [[nodiscard]] std::size_t edges() const { return width_ == 0 ? predecessors_.entries().size() : rows_.size(); }
    [[nodiscard]] const std::vector<TaskIndex>& edgeSources() const {
        return width_ == 0 ? predecessors_.entries() : rows_;
    }
    /// Task numbers by position; empty if positions equal task numbers.
    [[nodiscard]] const std::vector<TaskIndex>& order() const { return order_; }
    [[nodiscard]] TaskIndex taskAt(std::size_t place) const {
        return order_.empty() ? static_cast<TaskIndex>(place) : order_[place];
    }

private:
    std::size_t width_ = 0;
    TaskLists predecessors_;      ///< empty for rows
    std::vector<TaskIndex> rows_; ///< `width_` entries per position
    std::vector<TaskIndex> order_;
};

} // namespace bubblescope
