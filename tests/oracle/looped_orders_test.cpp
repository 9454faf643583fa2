// Eager 1F1B and the looped families (breadth-first, interleaved in all its flavors) against the orders that
// frameworks and papers' programs produced, op by op, and our simulation against the times they give.

#include "core/simulate/simulate.h"
#include "tests/oracle/order_match.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

#include <ostream>

namespace bubblescope {
namespace {

using test::Json;

/// A file all of whose cases are equal.
struct Source {
    const char* file;
    const char* family;
    const char* flavor;
    int cases; ///< counted from the file, those it lists as rejected left out
    bool times = false;
};

void PrintTo(const Source& source, std::ostream* out) {
    *out << source.file;
}

class LoopedOrders : public testing::TestWithParam<Source> {};

TEST_P(LoopedOrders, Equal) {
    BUBBLESCOPE_NEED_SHARED("oracles");
    const Source& source = GetParam();
    int equal = 0;
    for (const Json& one : test::oracleCases(source.file)) {
        const ScheduleSpec spec = test::specOf(one, source.family, source.flavor);
        EXPECT_TRUE(test::sameOrder(one, spec)) << one.at("params").dump();
        if (source.times) {
            EXPECT_TRUE(test::sameTimes(one, spec)) << one.at("params").dump();
        }
        ++equal;
    }
    EXPECT_EQ(equal, source.cases);
}

INSTANTIATE_TEST_SUITE_P(Eager, LoopedOrders,
                         testing::Values(Source{"own-sim/eager1f1b.json", "eager-1f1b", "", 58, true},
                                         Source{"paddle/eager1f1b.json", "eager-1f1b", "", 31},
                                         Source{"minpp/eager1f1b.json", "eager-1f1b", "", 14, true}));

INSTANTIATE_TEST_SUITE_P(BreadthFirst, LoopedOrders,
                         testing::Values(Source{"own-sim/looped_bfs.json", "looped-bfs", "breadth-first", 65, true},
                                         Source{"minpp/looped_bfs.json", "looped-bfs", "breadth-first", 11, true},
                                         Source{"torch/LoopedBFS.json", "looped-bfs", "torch", 175}));

} // namespace
} // namespace bubblescope
