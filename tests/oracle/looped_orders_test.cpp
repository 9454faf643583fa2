// Eager 1F1B and the looped families (breadth-first, interleaved in all its flavors) against the orders that
// frameworks and papers' programs produced, op by op, and our simulation against the times they give.

#include "core/graph/validate.h"
#include "tests/oracle/order_match.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

using test::Json;
using test::Source;

bool deadlocks(const ScheduleSpec& spec) {
    const auto problems = validate(makeSchedule(spec).value());
    return !problems.empty() && problems.back().kind == "deadlock";
}

class LoopedOrders : public testing::TestWithParam<Source> {};

TEST_P(LoopedOrders, Equal) {
    test::expectEqual(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Eager, LoopedOrders,
                         testing::Values(Source{"own-sim/eager1f1b.json", "eager-1f1b", "", 58, true},
                                         Source{"paddle/eager1f1b.json", "eager-1f1b", "", 31},
                                         Source{"minpp/eager1f1b.json", "eager-1f1b", "", 14, true}));

INSTANTIATE_TEST_SUITE_P(BreadthFirst, LoopedOrders,
                         testing::Values(Source{"own-sim/looped_bfs.json", "looped-bfs", "breadth-first", 65, true},
                                         Source{"minpp/looped_bfs.json", "looped-bfs", "breadth-first", 11, true},
                                         Source{"torch/LoopedBFS.json", "looped-bfs", "torch", 175}));

INSTANTIATE_TEST_SUITE_P(Interleaved, LoopedOrders,
                         testing::Values(Source{"torch/Interleaved1F1B.json", "interleaved", "torch", 121},
                                         Source{"paddle/vpp.json", "interleaved", "paddle-static", 145},
                                         Source{"paddle/dygraph_interleave.json", "interleaved", "paddle-dynamic", 36},
                                         Source{"paddle/dygraph_interleave_best_unbalanced.json", "interleaved",
                                                "paddle-dynamic-best-unbalanced", 42}));

INSTANTIATE_TEST_SUITE_P(
    PaddlesFewMicrobatches, LoopedOrders,
    testing::Values(Source{"paddle/dygraph_interleave_fthenb.json", "interleaved-fthenb", "paddle", 30},
                    Source{"paddle/dygraph_vpp_balanced_memory.json", "vpp-balanced-memory", "paddle", 31}));

ScheduleSpec interleavedSpec(const Json& params, const char* flavor) {
    ScheduleSpec spec = test::specOf({{"params", params}}, "interleaved", flavor);
    spec.group_size = test::param({{"params", params}}, {"microbatch_group_size_per_vp_stage"}, 0);
    return spec;
}

TEST(InterleavedOrders, MegatronWithEveryGroupSize) {
    int equal = 0;
    for (const Json& one : test::oracleCases("megatron-lm/interleaved_1f1b_tunable.json")) {
        const ScheduleSpec spec = interleavedSpec(one.at("params"), "megatron");
        EXPECT_TRUE(test::sameOrder(one, spec)) << one.at("params").dump();
        EXPECT_TRUE(test::sameTimes(one, spec)) << one.at("params").dump();
        ++equal;
    }
    EXPECT_EQ(equal, 111);
}

TEST(InterleavedOrders, RefusesWhatTheFrameworksRefuse) {
    int refused = 0;
    const auto expectRefused = [&](const ScheduleSpec& spec) {
        EXPECT_FALSE(makeSchedule(spec).ok()) << spec.flavor << " p=" << spec.pp << " m=" << spec.microbatches;
        ++refused;
    };
    for (const Json& one : test::oracleList("megatron-lm/interleaved_1f1b_tunable.json", "rejected_by_megatron")) {
        ScheduleSpec spec = interleavedSpec(one, "megatron");
        spec.vpp = one.at("v").get<int>();
        spec.group_size = one.at("N").get<int>();
        expectRefused(spec);
    }
    EXPECT_EQ(refused, 58);
    for (const Json& one : test::oracleList("torch/Interleaved1F1B.json", "rejected"))
        expectRefused(interleavedSpec(one.at("params"), "torch"));
    for (const auto& [file, flavor] : {std::pair("paddle/vpp.json", "paddle-static"),
                                       std::pair("paddle/dygraph_interleave.json", "paddle-dynamic")}) {
        for (const Json& one : test::oracleList(file, "cases"))
            if (one.contains("rejected")) expectRefused(interleavedSpec(one.at("params"), flavor));
    }
    RecordProperty("refused", refused);
    EXPECT_EQ(refused, 58 + 64 + 40 + 90);
}

/// The three orderings of own-sim/unbalanced_vpp.json by the first word of their description.
const char* flavorOf(const std::string& ordering) {
    if (ordering.starts_with("groups of p")) return "unbalanced";
    return ordering.starts_with("balanced") ? "balanced" : "merged";
}

TEST(InterleavedOrders, GroupsWithARemainder) {
    int equal = 0;
    for (const Json& one : test::oracleCases("own-sim/unbalanced_vpp.json")) {
        const auto spec = interleavedSpec(one.at("params"), flavorOf(one.at("params").at("ordering")));
        EXPECT_TRUE(test::sameOrder(one, spec)) << one.at("params").dump();
        EXPECT_TRUE(test::sameTimes(one, spec)) << one.at("params").dump();
        ++equal;
    }
    EXPECT_EQ(equal, 236);
    for (const Json& params : test::oracleList("own-sim/unbalanced_vpp.json", "in_order_deadlocks"))
        EXPECT_TRUE(deadlocks(interleavedSpec(params, "unbalanced"))) << params.dump();
}

TEST(InterleavedOrders, PaddlesStaticOrderDeadlocksWhereItsSimulationDid) {
    int judged = 0;
    int dead = 0;
    for (const Json& one : test::oracleList("paddle/sim_summary.json", "families/vpp")) {
        const auto spec = interleavedSpec(one.at("params"), "paddle-static");
        const bool expected = one.at("tf1_tb1").at("status") == "deadlock";
        EXPECT_EQ(deadlocks(spec), expected) << one.at("params").dump();
        ++judged;
        dead += expected ? 1 : 0;
    }
    EXPECT_EQ(judged, 204);
    EXPECT_EQ(dead, 20);
}

} // namespace
} // namespace bubblescope
