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

/// Lists of tasks in compressed rows, one list a task: 4 bytes a task and 4 an entry. Immutable.
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

/// Per task, its predecessors or its successors, each in the order of `edges`. Linear.
[[nodiscard]] TaskLists predecessorLists(std::size_t tasks, std::span<const TaskEdge> edges);
[[nodiscard]] TaskLists successorLists(std::size_t tasks, std::span<const TaskEdge> edges);

/// An order of all tasks in which each comes after its predecessors. Depth first, so that a chain of tasks is
/// contiguous in memory once tasks are renumbered by it. Tasks on a cycle, and all that depend on them, are missing
/// from the result. Linear.
[[nodiscard]] std::vector<TaskIndex> topologicalOrder(const TaskLists& successors, std::span<const TaskEdge> edges);

/// A directed acyclic graph of tasks without times, with an order in which all of them can run. longest_path.h computes
/// times on it. Immutable, so that any number of evaluations and threads can share one.
///
/// A task's place is its position in that order. Where tasks are numbered in such an order already, place and number
/// are the same, and the order takes no memory.
class TaskGraph {
public:
    TaskGraph() = default;

    /// `predecessors` lists, per place, tasks of earlier places. An empty `order` stands for 0, 1, 2, ….
    explicit TaskGraph(TaskLists predecessors, std::vector<TaskIndex> order = {})
        : predecessors_(std::move(predecessors)), order_(std::move(order)) {}

    /// The same for tasks with at most `width` predecessors, up to kMaxWidth: `rows` holds `width` entries a place,
    /// kNoTask where there are fewer. Passes over rows run without a branch, which makes them about twice as fast.
    TaskGraph(std::size_t width, std::vector<TaskIndex> rows, std::vector<TaskIndex> order = {})
        : width_(width), rows_(std::move(rows)), order_(std::move(order)) {}
    static constexpr std::size_t kMaxWidth = 3;

    [[nodiscard]] std::size_t size() const { return width_ == 0 ? predecessors_.size() : rows_.size() / width_; }
    /// Predecessors a place where they are in rows; 0 where they are in lists.
    [[nodiscard]] std::size_t width() const { return width_; }
    /// The predecessors of the task at a place; in rows with kNoTask entries.
    [[nodiscard]] std::span<const TaskIndex> predecessors(std::size_t place) const {
        return width_ == 0 ? predecessors_[place] : std::span(rows_).subspan(place * width_, width_);
    }
    /// The number of the first of these edges; edges are numbered place by place. In rows a kNoTask entry has a number
    /// too.
    [[nodiscard]] std::size_t firstEdge(std::size_t place) const {
        return width_ == 0 ? static_cast<std::size_t>(predecessors_.begin()[place]) : place * width_;
    }
    /// firstEdge() of each place, and of the end; only of lists.
    [[nodiscard]] const std::vector<TaskIndex>& listBegin() const { return predecessors_.begin(); }
    /// Numbers of edges are below this.
    [[nodiscard]] std::size_t edges() const { return width_ == 0 ? predecessors_.entries().size() : rows_.size(); }
    [[nodiscard]] const std::vector<TaskIndex>& edgeSources() const {
        return width_ == 0 ? predecessors_.entries() : rows_;
    }
    /// Empty where places are numbers.
    [[nodiscard]] const std::vector<TaskIndex>& order() const { return order_; }
    [[nodiscard]] TaskIndex taskAt(std::size_t place) const {
        return order_.empty() ? static_cast<TaskIndex>(place) : order_[place];
    }

private:
    std::size_t width_ = 0;
    TaskLists predecessors_;      ///< empty where there are rows
    std::vector<TaskIndex> rows_; ///< `width_` a place
    std::vector<TaskIndex> order_;
};

} // namespace bubblescope
