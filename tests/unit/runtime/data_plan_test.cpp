#include "runtime/model/data_plan.h"

#include "tests/unit/runtime/schedules.h"

#include <gtest/gtest.h>

namespace bubblescope::runtime {
namespace {

std::vector<int> samplesOf(const StageTask& task) {
    std::vector<int> samples;
    for (const Piece piece : task.pieces)
        samples.push_back(piece.sample.value);
    return samples;
}

Op forwardOf(int microbatch, int chunk) {
    return {OpKind::Forward, Microbatch{microbatch}, Chunk{chunk}};
}

TEST(DataPlan, OnePipelineTakesAllMicrobatchesInTheirOrder) {
    const DataPlan plan(test::scheduleOf("interleaved", 2, 4, 2));
    EXPECT_EQ(plan.routes(), 1);
    EXPECT_EQ(plan.places(), 4);
    EXPECT_EQ(plan.pieceOf(forwardOf(2, 1)), (Piece{Microbatch{2}, 0}));
    const StageTask task = plan.taskOf(Stage{3});
    EXPECT_EQ(task.place, 3);
    EXPECT_EQ(task.places, 4);
    EXPECT_EQ(task.microbatches, 4);
    EXPECT_EQ(samplesOf(task), (std::vector{0, 1, 2, 3}));
}

TEST(DataPlan, TwoPipelinesThatNumberMicrobatchesThroughKeepTheNumbers) {
    // Blocks of p = 2: the first half of each goes down, the second up.
    const DataPlan plan(test::scheduleOf("chimera", 2, 4));
    EXPECT_EQ(plan.routes(), 2);
    EXPECT_EQ(plan.places(), 2);
    EXPECT_EQ(samplesOf(plan.taskOf(Stage{0})), (std::vector{0, 2}));
    EXPECT_EQ(samplesOf(plan.taskOf(Stage{1})), (std::vector{1, 3}));
    EXPECT_EQ(plan.pieceOf(forwardOf(3, 1)).sample, Microbatch{3});
    EXPECT_EQ(plan.copyOf(Stage{2}, 1), Stage{3});
    EXPECT_EQ(plan.copyOf(Stage{3}, 0), Stage{2});
    EXPECT_EQ(plan.taskOf(Stage{3}).place, 1);
}

TEST(DataPlan, TwoPipelinesThatNumberTheirOwnShareTheDataInTurn) {
    const DataPlan plan(test::scheduleOf("dualpipe", 2, 4));
    EXPECT_EQ(samplesOf(plan.taskOf(Stage{0})), (std::vector{0, 2}));
    EXPECT_EQ(samplesOf(plan.taskOf(Stage{1})), (std::vector{1, 3}));
    EXPECT_EQ(plan.pieceOf(forwardOf(1, 0)).sample, Microbatch{2});
    EXPECT_EQ(plan.pieceOf(forwardOf(1, 1)).sample, Microbatch{3});
}

TEST(DataPlan, SlicesAreSummedFromTheLastToTheFirst) {
    ScheduleSpec spec{"seq1f1b", "", 2, 2, 1};
    spec.sequence_slices = 3;
    const DataPlan plan(makeSchedule(spec).value());
    EXPECT_EQ(plan.slices(), 3);
    const std::vector<Piece> expected{{Microbatch{0}, 2}, {Microbatch{0}, 1}, {Microbatch{0}, 0},
                                      {Microbatch{1}, 2}, {Microbatch{1}, 1}, {Microbatch{1}, 0}};
    EXPECT_EQ(plan.taskOf(Stage{1}).pieces, expected);
}

} // namespace
} // namespace bubblescope::runtime
