#include "core/timeline/step_values.h"

#include <gtest/gtest.h>

#include <array>

namespace bubblescope {
namespace {

TEST(StepValues, OfRanksOfAReplicaFillEachOther) {
    StepValues first{.loss = {}, .tokens = 64, .samples = 4, .sequence_length = 16};
    first.fill({.loss = 2.5, .tokens = 1, .samples = {}, .sequence_length = {}});
    EXPECT_EQ(first, (StepValues{.loss = 2.5, .tokens = 64, .samples = 4, .sequence_length = 16}));
    EXPECT_TRUE(StepValues{}.empty());
    EXPECT_FALSE(first.empty());
}

TEST(StepValues, OfReplicasAreAveragedAndSummed) {
    const std::array<StepValues, 3> replicas{{{.loss = 2, .tokens = 64, .samples = 4, .sequence_length = 16},
                                              {.loss = 4, .tokens = 32, .samples = {}, .sequence_length = 20},
                                              {}}};
    EXPECT_EQ(together(replicas), (StepValues{.loss = 3, .tokens = 96, .samples = 4, .sequence_length = 20}));
    EXPECT_TRUE(together({}).empty());
}

} // namespace
} // namespace bubblescope
