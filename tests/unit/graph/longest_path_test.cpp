#include "core/graph/longest_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>

namespace bubblescope {
namespace {

using namespace std::chrono_literals;

/// A graph with at most three predecessors a task, numbered in order, with the same edges in rows and in lists.
struct RandomGraph {
    std::vector<TaskEdge> edges;
    std::vector<std::vector<TimeNs>> lags; ///< per task and slot
    std::vector<TimeNs> durations;
    TaskGraph rows;
    TaskGraph lists;

    explicit RandomGraph(unsigned seed, TaskIndex tasks = 200) {
        std::mt19937 random(seed);
        const auto pick = [&](TaskIndex below) {
            return static_cast<TaskIndex>(random() % static_cast<unsigned>(below));
        };
        std::vector<TaskIndex> entries;
        for (TaskIndex task = 0; task < tasks; ++task) {
            auto& own = lags.emplace_back();
            durations.push_back(TimeNs{1 + pick(50)});
            for (std::size_t slot = 0; slot < TaskGraph::kMaxWidth; ++slot) {
                const bool used = task > 0 && random() % 2 == 0;
                entries.push_back(used ? static_cast<TaskIndex>(random() % static_cast<unsigned>(task)) : kNoTask);
                own.push_back(used ? TimeNs{pick(30)} : TimeNs{0});
                if (used) edges.push_back({entries.back(), task});
            }
        }
        rows = TaskGraph(TaskGraph::kMaxWidth, entries);
        lists = TaskGraph(predecessorLists(static_cast<std::size_t>(tasks), edges));
    }

    [[nodiscard]] TimeNs duration(TaskIndex task) const { return durations[static_cast<std::size_t>(task)]; }
    /// In lists the slots that are not used are left out.
    [[nodiscard]] TimeNs lag(const TaskGraph& graph, const EdgePlace& edge) const {
        const auto task = static_cast<std::size_t>(edge.task);
        if (graph.width() > 0) return lags[task][edge.slot];
        std::size_t slot = 0;
        for (std::size_t seen = 0;; ++slot) {
            if (rows.predecessors(task)[slot] == kNoTask) continue;
            if (seen++ == edge.slot) return lags[task][slot];
        }
    }
    [[nodiscard]] TaskTimes ends(const TaskGraph& graph) const {
        TaskTimes ends(graph.size());
        forwardPass(
            graph, ends, [&](const EdgePlace& edge) { return lag(graph, edge); },
            [&](TaskIndex task, TimeNs ready) { return ready + duration(task); });
        return ends;
    }
};

std::vector<TimeNs> copyOf(const TaskTimes& times) {
    return {times.tasks().begin(), times.tasks().end()};
}

TEST(LongestPath, ATaskStartsWhenTheLastInputArrives) {
    //  0 --(lag 5)--> 2, 1 --> 2 --> 3
    const TaskGraph graph(2, {kNoTask, kNoTask, kNoTask, kNoTask, 0, 1, 2, kNoTask});
    const std::array<TimeNs, 4> durations{3ns, 4ns, 10ns, 1ns};
    TaskTimes ends(4);
    forwardPass(
        graph, ends, [](const EdgePlace& edge) { return edge.task == 2 && edge.slot == 0 ? TimeNs{5} : TimeNs{0}; },
        [&](TaskIndex task, TimeNs ready) { return ready + durations[static_cast<std::size_t>(task)]; });
    EXPECT_EQ(copyOf(ends), (std::vector<TimeNs>{3ns, 4ns, 18ns, 19ns}));
}

TEST(LongestPath, AnOrderTakesTheNumbersOfItsTasks) {
    // 2 before 0 before 1.
    const TaskGraph graph(1, {kNoTask, 2, 0}, {2, 0, 1});
    const std::array<TimeNs, 3> durations{1ns, 2ns, 4ns};
    TaskTimes ends(3, TimeNs{100});
    forwardPass(graph, ends, NoLag{},
                [&](TaskIndex task, TimeNs ready) { return ready + durations[static_cast<std::size_t>(task)]; });
    EXPECT_EQ(copyOf(ends), (std::vector<TimeNs>{105ns, 107ns, 104ns}));
}

TEST(LongestPath, RowsAndListsGiveTheSameTimes) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const RandomGraph random(seed);
        EXPECT_EQ(copyOf(random.ends(random.rows)), copyOf(random.ends(random.lists)));
    }
}

TEST(LongestPath, AWalkGivesTheTimesOfTheStoredGraph) {
    struct Task {
        TaskIndex number = kNoTask;
    };
    const RandomGraph random(7);
    TaskTimes stored(random.rows.size());
    forwardPass(random.rows, stored, NoLag{},
                [&](TaskIndex task, TimeNs ready) { return ready + random.duration(task); });
    TaskTimes walked(random.rows.size());
    const auto finish = [&](const Task& task, TimeNs ready) { return ready + random.duration(task.number); };
    const bool walked_all = walkedPass(
        [&](auto visit) {
            for (std::size_t place = 0; place < random.rows.size(); ++place) {
                const auto from = random.rows.predecessors(place);
                visit(Task{random.rows.taskAt(place)}, from[0], from[1], from[2]);
            }
            return true;
        },
        walked, finish);
    EXPECT_TRUE(walked_all);
    EXPECT_EQ(copyOf(walked), copyOf(stored));
}

TEST(LongestPath, TasksOfOneResourceShareANumber) {
    struct Task {
        TaskIndex number = kNoTask;
        TimeNs duration{0};
    };
    // Two tasks of resource 0, of which the second also waits for the output of resource 1.
    TaskTimes times(2);
    std::vector<TimeNs> before;
    const auto finish = [&](const Task& task, TimeNs ready) {
        before.push_back(times[task.number]);
        return ready + task.duration;
    };
    walkedPass(
        [](auto visit) {
            visit(Task{0, 3ns}, 0);
            visit(Task{1, 5ns}, 1);
            visit(Task{0, 2ns}, 0, 1);
        },
        times, finish);
    EXPECT_EQ(copyOf(times), (std::vector<TimeNs>{7ns, 5ns}));
    EXPECT_EQ(before, (std::vector<TimeNs>{0ns, 0ns, 3ns}));
}

/// The latest ends that keep the length, and what stays when a task is moved there.
TEST(LongestPath, WhatATaskIsPutOffByWithinItsSlackDelaysNothing) {
    const RandomGraph random(5, 60);
    for (const TaskGraph* graph : {&random.rows, &random.lists}) {
        const TaskTimes ends = random.ends(*graph);
        const TimeNs length = *std::ranges::max_element(ends.tasks());
        const auto lag = [&](const EdgePlace& edge) { return random.lag(*graph, edge); };
        TaskTimes latest(graph->size(), length);
        backwardPass(*graph, latest, lag, [&](TaskIndex task) { return latest[task] - random.duration(task); });
        for (TaskIndex task = 0; task < static_cast<TaskIndex>(graph->size()); ++task) {
            const TimeNs slack = latest[task] - ends[task];
            ASSERT_GE(slack, TimeNs{0});
            for (const TimeNs late : {slack, slack + TimeNs{1}}) {
                TaskTimes moved(graph->size());
                forwardPass(*graph, moved, lag, [&](TaskIndex each, TimeNs ready) {
                    return ready + random.duration(each) + (each == task ? late : TimeNs{0});
                });
                EXPECT_EQ(*std::ranges::max_element(moved.tasks()) > length, late > slack);
            }
        }
    }
}

TEST(LongestPath, TheLatestPredecessorsLeadBackToTheOrigin) {
    const RandomGraph random(9);
    const TaskTimes ends = random.ends(random.rows);
    auto task = static_cast<TaskIndex>(std::ranges::max_element(ends.tasks()) - ends.tasks().begin());
    TimeNs sum{0};
    const TimeNs length = ends[task];
    while (task != kNoTask) {
        const LatestPredecessor latest = latestPredecessor(
            random.rows, static_cast<std::size_t>(task), [&](TaskIndex each) { return ends[each]; },
            [&](const EdgePlace& edge) { return random.lag(random.rows, edge); });
        EXPECT_EQ(latest.arrival + random.duration(task), ends[task]);
        sum += ends[task] - (latest.task == kNoTask ? TimeNs{0} : ends[latest.task]);
        task = latest.task;
    }
    EXPECT_EQ(sum, length);
}

TEST(LongestPath, OfPredecessorsThatArriveTogetherTheFirstCounts) {
    const TaskGraph graph(2, {kNoTask, kNoTask, kNoTask, kNoTask, 1, 0});
    const LatestPredecessor latest = latestPredecessor(
        graph, 2, [](TaskIndex) { return TimeNs{7}; }, NoLag{});
    EXPECT_EQ(latest.task, 1);
    EXPECT_EQ(latest.slot, 0U);
    EXPECT_EQ(latest.arrival, 7ns);
}

TEST(LongestPath, ChangedEndsAreThoseOfAWholePass) {
    const RandomGraph random(3);
    const std::size_t tasks = random.lists.size();
    const TaskLists successors = successorLists(tasks, random.edges);
    IncrementalEnds ends(random.lists, successors, random.durations);
    const auto expectEndsOf = [&](const std::vector<TimeNs>& durations) {
        TaskTimes whole(tasks);
        forwardPass(random.lists, whole, NoLag{},
                    [&](TaskIndex task, TimeNs ready) { return ready + durations[static_cast<std::size_t>(task)]; });
        for (TaskIndex task = 0; task < static_cast<TaskIndex>(tasks); ++task)
            ASSERT_EQ(ends.end(task), whole[task]);
    };
    expectEndsOf(random.durations);
    std::mt19937 choice(1);
    for (int round = 0; round < 50; ++round) {
        std::vector<TimeNs> changed = random.durations;
        for (int i = 0; i < 5; ++i) {
            const auto task = static_cast<std::size_t>(choice() % tasks);
            changed[task] = TimeNs{static_cast<int>(choice() % 100)};
            ends.set(static_cast<TaskIndex>(task), changed[task]);
        }
        ends.update();
        expectEndsOf(changed);
        ends.undo();
        expectEndsOf(random.durations);
    }
}

TEST(TaskGraph, AnOrderHasEveryTaskBehindWhatItWaitsFor) {
    const std::vector<TaskEdge> edges{{3, 1}, {1, 0}, {3, 2}, {2, 0}};
    const std::vector<TaskIndex> order = topologicalOrder(successorLists(5, edges), edges);
    ASSERT_EQ(order.size(), 5U);
    const auto place = [&](TaskIndex task) { return std::ranges::find(order, task) - order.begin(); };
    for (const TaskEdge& edge : edges)
        EXPECT_LT(place(edge.from), place(edge.to));
}

TEST(TaskGraph, TasksOnACycleAndBehindItAreMissingFromTheOrder) {
    const std::vector<TaskEdge> edges{{0, 1}, {1, 2}, {2, 1}, {2, 3}};
    EXPECT_EQ(topologicalOrder(successorLists(4, edges), edges), std::vector<TaskIndex>{0});
}

} // namespace
} // namespace bubblescope
