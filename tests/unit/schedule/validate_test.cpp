#include "core/families/registry.h"
#include "core/graph/validate.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

Schedule oneFOneB(int p, int m) {
    return makeSchedule({"1f1b", "", p, m, 1}).value();
}

std::vector<std::string> kinds(const Schedule& schedule, const ValidateOptions& options = {}) {
    std::vector<std::string> list;
    for (const auto& problem : validate(schedule, options))
        list.push_back(problem.kind);
    return list;
}

TEST(Validate, SwappedOpsOnOneRankAreADeadlockWithItself) {
    Schedule schedule = oneFOneB(2, 2);
    std::swap(schedule.ranks[1][0], schedule.ranks[1][1]); // B0 before F0
    const auto problems = validate(schedule);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].kind, "deadlock");
    EXPECT_EQ(problems[0].rank, Rank{1});
    EXPECT_NE(problems[0].message.text().find("B0.0 on rank 1 waits for F0.0 on rank 1, which comes after it"),
              std::string::npos)
        << problems[0].message.text();
}

TEST(Validate, CycleAcrossRanksIsShownOpByOp) {
    // Rank 0 wants B0 before it has sent F1; rank 1 wants F1 before it does B0.
    Schedule schedule;
    schedule.name = "custom";
    schedule.pp = 2;
    schedule.microbatches = 2;
    const auto f = [](int m) { return Op{OpKind::Forward, Microbatch{m}, Chunk{0}}; };
    const auto b = [](int m) { return Op{OpKind::Backward, Microbatch{m}, Chunk{0}}; };
    schedule.ranks = {{f(0), b(0), f(1), b(1)}, {f(0), f(1), b(0), b(1)}};
    const auto problems = validate(schedule);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].kind, "deadlock");
    EXPECT_NE(problems[0].message.text().find("B0.0 on rank 0 waits for B0.0 on rank 1"), std::string::npos)
        << problems[0].message.text();
    EXPECT_NE(problems[0].message.text().find("F1.0 on rank 1 waits for F1.0 on rank 0"), std::string::npos)
        << problems[0].message.text();
}

TEST(Validate, FindsMissingDuplicateAndForeignOps) {
    Schedule missing = oneFOneB(4, 8);
    missing.ranks[2].pop_back();
    EXPECT_EQ(kinds(missing), std::vector<std::string>{"missing"});

    Schedule duplicate = oneFOneB(4, 8);
    duplicate.ranks[2].push_back(duplicate.ranks[2].front());
    EXPECT_EQ(kinds(duplicate), std::vector<std::string>{"duplicate"});

    Schedule foreign = oneFOneB(4, 8);
    foreign.ranks[1].push_back({OpKind::Forward, Microbatch{8}, Chunk{0}});
    foreign.ranks[1].push_back({OpKind::Forward, Microbatch{0}, Chunk{1}});
    EXPECT_EQ(kinds(foreign), (std::vector<std::string>{"out-of-range", "out-of-range"}));

    Schedule half = oneFOneB(2, 1);
    half.ranks[0].back().kind = OpKind::BackwardInput;
    EXPECT_EQ(kinds(half), std::vector<std::string>{"missing"}) << "I without its W";

    Schedule extra = oneFOneB(2, 1);
    extra.ranks[0].push_back({OpKind::BackwardWeight, Microbatch{0}, Chunk{0}});
    EXPECT_EQ(kinds(extra), std::vector<std::string>{"duplicate"}) << "W beside a whole B";
}

TEST(Validate, SplitBackwardsAndOptimizerAreFine) {
    Schedule schedule = oneFOneB(2, 2);
    for (auto& ops : schedule.ranks) {
        std::vector<Op> split;
        for (Op op : ops) {
            if (op.kind == OpKind::Backward) {
                op.kind = OpKind::BackwardInput;
                split.push_back(op);
                op.kind = OpKind::BackwardWeight;
            }
            split.push_back(op);
        }
        split.push_back({OpKind::Optimizer, {}, {}});
        ops = split;
    }
    EXPECT_TRUE(kinds(schedule).empty());
}

TEST(Validate, MemoryLimitNamesTheFirstOpThatExceedsIt) {
    EXPECT_TRUE(kinds(oneFOneB(4, 8), {4}).empty());
    const auto problems = validate(oneFOneB(4, 8), {3});
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].kind, "memory");
    EXPECT_EQ(problems[0].rank, Rank{0});
    EXPECT_EQ(problems[0].index, 3U);
}

TEST(Validate, RefusesShapesThatFitNothing) {
    Schedule schedule = oneFOneB(2, 2);
    schedule.pp = 3;
    EXPECT_EQ(kinds(schedule), std::vector<std::string>{"rank-count"});
    EXPECT_EQ(kinds(Schedule{"custom", "", 0, 0, 0, Placement::Loop, {}}), std::vector<std::string>{"rank-count"});
}

} // namespace
} // namespace bubblescope
