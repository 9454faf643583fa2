// The closed forms of eager 1F1B and the looped families against simulation.

#include "core/bubble/closed_form.h"
#include "core/schedule/validate.h"
#include "core/simulate/simulate.h"
#include "tests/property/form_check.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

using test::compareWithSimulation;
using test::kRatios;
using test::Ratio;
using test::wholeTimes;

TEST(LoopedForms, EagerEqualsSimulation) {
    int compared = 0;
    for (int p = 1; p <= 16; ++p)
        for (int m : {1, 2, 3, 5, 8, 13, 15, 16, 17, 31, 33, 64})
            for (const Ratio ratio : kRatios)
                compared += compareWithSimulation({"eager-1f1b", "", p, m, 1}, wholeTimes(ratio));
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
}

TEST(LoopedForms, BreadthFirstEqualsSimulation) {
    int compared = 0;
    for (const char* const flavor : {"breadth-first", "torch"})
        for (int p = 1; p <= 16; ++p)
            for (int m : {1, 2, 3, 7, 8, 15, 17, 32})
                for (int v : {1, 2, 3, 6})
                    for (const Ratio ratio : kRatios)
                        compared += compareWithSimulation({"looped-bfs", flavor, p, m, v}, wholeTimes(ratio));
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
}

} // namespace
} // namespace bubblescope
