#include "core/analysis/whatif/run_graph.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

namespace bubblescope {
namespace {

using namespace std::chrono_literals;

RunNode node(std::int32_t step = 0) {
    RunNode node;
    node.step = step;
    return node;
}

/// Where a node added as the n-th went, by its duration, which tests keep distinct.
NodeId withDuration(const TimedGraph& timed, TimeNs duration) {
    for (NodeId id = 0; id < timed.graph.size(); ++id) {
        if (timed.durations[static_cast<std::size_t>(id)] == duration) return id;
    }
    return kNoNode;
}

TEST(RunSimulation, IsTheLongestPath) {
    RunGraphBuilder builder;
    const NodeId a = builder.add(node(), 3ns);
    const NodeId b = builder.add(node(), 4ns);
    const NodeId c = builder.add(node(), 5ns);
    const NodeId d = builder.add(node(), 1ns);
    builder.after(b, a);
    builder.after(c, a);
    builder.after(d, b);
    builder.after(d, c);
    builder.after(kNoNode, a); // states nothing
    const auto timed = std::move(builder).finish("test");
    ASSERT_TRUE(timed.ok());
    RunSimulation simulation(timed.value().graph, timed.value().durations);
    EXPECT_EQ(simulation.meanStep(), 9ns);
    EXPECT_EQ(simulation.start(withDuration(timed.value(), 1ns)), 8ns);

    const NodeId slow = withDuration(timed.value(), 5ns);
    simulation.set(slow, 2ns);
    simulation.update();
    EXPECT_EQ(simulation.end(slow), 5ns);
    EXPECT_EQ(simulation.meanStep(), 8ns); // now through b
    simulation.set(slow, 10ns);
    simulation.update();
    EXPECT_EQ(simulation.meanStep(), 14ns);
    simulation.undo();
    EXPECT_EQ(simulation.meanStep(), 9ns);
    simulation.set(slow, 7ns);
    simulation.undo(); // before it counted
    simulation.update();
    EXPECT_EQ(simulation.meanStep(), 9ns);
    EXPECT_EQ(simulation.duration(slow), 5ns);
}

TEST(RunSimulation, WhoMeetsEndsAfterTheLastStarted) {
    RunGraphBuilder builder;
    const NodeId early = builder.add(node(), 3ns);
    const NodeId late = builder.add(node(), 5ns);
    const NodeId send = builder.add(node(), 20ns);
    const NodeId receive = builder.add(node(), 10ns);
    builder.after(send, early);
    builder.after(receive, late);
    builder.meet(std::array{send, receive});
    const auto timed = std::move(builder).finish("test");
    ASSERT_TRUE(timed.ok());
    const RunSimulation simulation(timed.value().graph, timed.value().durations);
    EXPECT_EQ(simulation.end(withDuration(timed.value(), 20ns)), 25ns);
    EXPECT_EQ(simulation.end(withDuration(timed.value(), 10ns)), 15ns);
}

TEST(RunSimulation, StepsAreApart) {
    RunGraphBuilder builder;
    builder.add(node(0), 3ns);
    builder.add(node(1), 8ns);
    const auto timed = std::move(builder).finish("test");
    ASSERT_TRUE(timed.ok());
    const RunSimulation simulation(timed.value().graph, timed.value().durations);
    EXPECT_EQ(simulation.stepTimes(), (std::vector<TimeNs>{3ns, 8ns}));
    EXPECT_EQ(simulation.meanStep(), 5ns);
}

TEST(RunSimulation, ACircleIsAnError) {
    RunGraphBuilder builder;
    const NodeId a = builder.add(node(), 1ns);
    const NodeId b = builder.add(node(), 1ns);
    builder.after(a, b);
    builder.after(b, a);
    const auto timed = std::move(builder).finish("trace.json");
    ASSERT_FALSE(timed.ok());
    EXPECT_EQ(timed.error().kind, ErrorKind::Input);
    EXPECT_EQ(timed.error().where, "trace.json");
}

TEST(RunSimulation, NegativeTimesCountAsNone) {
    RunGraphBuilder builder;
    builder.add(node(), -5ns);
    const auto timed = std::move(builder).finish("test");
    ASSERT_TRUE(timed.ok());
    EXPECT_EQ(timed.value().durations.front(), 0ns);
}

} // namespace
} // namespace bubblescope
