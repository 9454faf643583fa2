#include "tests/unit/optimize/overlap/op_lists.h"

#include <gtest/gtest.h>

namespace bubblescope::overlap {
namespace {

using test::opList;

TEST(Operators, LongOpsAreSplitIntoAsFewSlicesAsNeeded) {
    Operators ops = opList({{'c', 1000}, {'a', 400}, {'c', 300}});
    ops[0].splittable = ops[2].splittable = true;
    const Operators split = splitLongOps(ops, TimeNs{400}, 8, 0.0);
    ASSERT_EQ(split.size(), 5U) << "1000 into 3, 300 is short enough";
    EXPECT_EQ(split[0].time + split[1].time + split[2].time, TimeNs{1000}) << "nothing is lost to rounding";
    EXPECT_EQ(split[0].name, "c0 1/3");
    EXPECT_EQ(split[2].time, TimeNs{334});

    // With a loss of 10 % a slice, 3 slices take 1200 in all: 400 each.
    const Operators lossy = splitLongOps(ops, TimeNs{400}, 8, 0.1);
    ASSERT_EQ(lossy.size(), 5U);
    EXPECT_EQ(lossy[0].time, TimeNs{400});
    EXPECT_EQ(splitLongOps(ops, TimeNs{399}, 8, 0.1).size(), 6U) << "4 slices of 325";
    EXPECT_EQ(splitLongOps(ops, TimeNs{10}, 2, 0.0).size(), 5U) << "at most 2 slices of each op";
    ops[0].splittable = false;
    EXPECT_EQ(splitLongOps(ops, TimeNs{400}, 8, 0.0).size(), 3U);
}

TEST(Operators, WeightGradientsAreTakenApartWhereAnAllReduceFollows) {
    Operators ops = opList({{'c', 10}, {'c', 8}, {'b', 5}, {'c', 1}});
    ops[0].weight_grad = TimeNs{5};
    ops[1].weight_grad = TimeNs{3};
    const Operators apart = splitWeightGrads(ops);
    ASSERT_EQ(apart.size(), 5U);
    EXPECT_EQ(apart[0].time, TimeNs{10}) << "no all-reduce behind it";
    EXPECT_EQ(apart[1].time, TimeNs{5});
    EXPECT_TRUE(apart[2].all_reduce && apart[2].own_stream);
    EXPECT_EQ(apart[3].time, TimeNs{3});
    EXPECT_FALSE(apart[3].waits_reduce);
    EXPECT_TRUE(apart[4].waits_reduce);
    EXPECT_EQ(computeTime(apart), computeTime(ops));
}

TEST(Operators, StagesThatAreTooLargeAreRefused) {
    OpCosts costs;
    costs.forward = costs.backward = opList({{'c', 1}});
    costs.forward[0].time = std::chrono::seconds(400);
    EXPECT_EQ(withLayers(costs, 2).value().layers, 2);
    EXPECT_NE(withLayers(costs, 3).error().text().find("units"), std::string::npos);
    costs.forward.assign(1000, costs.backward[0]);
    EXPECT_TRUE(withLayers(costs, 2).ok());
    EXPECT_EQ(withLayers(costs, 3).error().kind, ErrorKind::Usage);
}

} // namespace
} // namespace bubblescope::overlap
