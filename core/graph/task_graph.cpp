#include "core/graph/task_graph.h"

namespace bubblescope {
namespace {

TaskLists listsBy(std::size_t tasks, std::span<const TaskEdge> edges, TaskIndex TaskEdge::*key,
                  TaskIndex TaskEdge::*value) {
    std::vector<TaskIndex> begin(tasks + 1, 0);
    for (const TaskEdge& edge : edges)
        ++begin[static_cast<std::size_t>(edge.*key) + 1];
    for (std::size_t i = 0; i < tasks; ++i)
        begin[i + 1] += begin[i];
    std::vector<TaskIndex> entries(edges.size());
    std::vector<TaskIndex> next(begin.begin(), begin.end() - 1);
    for (const TaskEdge& edge : edges)
        entries[static_cast<std::size_t>(next[static_cast<std::size_t>(edge.*key)]++)] = edge.*value;
    return {std::move(begin), std::move(entries)};
}

} // namespace

TaskLists predecessorLists(std::size_t tasks, std::span<const TaskEdge> edges) {
    return listsBy(tasks, edges, &TaskEdge::to, &TaskEdge::from);
}

TaskLists successorLists(std::size_t tasks, std::span<const TaskEdge> edges) {
    return listsBy(tasks, edges, &TaskEdge::from, &TaskEdge::to);
}

std::vector<TaskIndex> topologicalOrder(const TaskLists& successors, std::span<const TaskEdge> edges) {
    std::vector<TaskIndex> missing(successors.size(), 0);
    for (const TaskEdge& edge : edges)
        ++missing[static_cast<std::size_t>(edge.to)];
    std::vector<TaskIndex> ready;
    for (std::size_t i = successors.size(); i-- > 0;) {
        if (missing[i] == 0) ready.push_back(static_cast<TaskIndex>(i));
    }
    std::vector<TaskIndex> order;
    order.reserve(successors.size());
    while (!ready.empty()) {
        const TaskIndex task = ready.back();
        ready.pop_back();
        order.push_back(task);
        for (const TaskIndex successor : successors[static_cast<std::size_t>(task)]) {
            if (--missing[static_cast<std::size_t>(successor)] == 0) ready.push_back(successor);
        }
    }
    return order;
}

} // namespace bubblescope
