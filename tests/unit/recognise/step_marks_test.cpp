#include "core/recognise/run.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/formats/trace_bytes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

using test::countOf;
using testing::HasSubstr;

constexpr int kSteps = 3;
constexpr int kPeriod = 1000;

std::string slice(std::string_view category, std::string_view name, int start, int duration) {
    return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":1,"ts":{},"dur":{}}},)", category, name,
                       start, duration);
}

/// 1F1B of two ranks and two micro-batches in three steps of a PyTorch job. `mark` names the profiler's mark of a step;
/// an empty name leaves it out. `name` names an op.
class StepMarks : public testing::Test {
protected:
    using Name = std::function<std::string(int rank, int step)>;

    void writeJob(const Name& mark, const std::function<std::string(int, char, int)>& name,
                  std::string_view category = "user_annotation") {
        for (int rank = 0; rank < 2; ++rank) {
            std::string events;
            for (int step = 0; step < kSteps; ++step) {
                const int at = kPeriod * (step + 1);
                if (const std::string text = mark(rank, step); !text.empty())
                    events += slice("user_annotation", text, at - 50, kPeriod - 10);
                const std::string_view order = rank == 0 ? "F0F1B0B1" : "F0B0F1B1";
                const std::vector<int> starts =
                    rank == 0 ? std::vector{0, 100, 300, 500} : std::vector{100, 200, 300, 400};
                for (std::size_t i = 0; i < 4; ++i) {
                    events += slice(category, name(rank, order[2 * i], order[2 * i + 1] - '0'), at + starts[i], 95);
                }
            }
            events.pop_back();
            folder_.write(fmt::format("rank{}.json", rank),
                          fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"rank":{}}},"traceEvents":[{}]}})",
                                      rank, events));
        }
    }
    void expectJob(std::int64_t first_step, std::int64_t contradictions) {
        JobControl control;
        const auto run = loadRun({folder_.path()}, control);
        ASSERT_TRUE(run.ok()) << run.error().text();
        EXPECT_EQ(run.value().schedule.name, "1f1b");
        ASSERT_EQ(run.value().steps.size(), static_cast<std::size_t>(kSteps));
        for (int step = 0; step < kSteps; ++step) {
            EXPECT_EQ(run.value().steps[static_cast<std::size_t>(step)].index, first_step + step);
            EXPECT_EQ(run.value().steps[static_cast<std::size_t>(step)].wall(), TimeNs{595'000});
        }
        EXPECT_EQ(countOf(run.value().problems, "step-marks"), contradictions);
    }

    test::ScratchFolder folder_;
};

std::string numbered(int step) {
    return fmt::format("ProfilerStep#{}", step);
}

std::string torchName(int rank, char kind, int microbatch) {
    return fmt::format("PP:{}{}{}", rank, kind, microbatch);
}
std::string rangeName(int, char kind, int) {
    return kind == 'F' ? "forward_step" : "backward_step";
}
std::string zeroBubbleName(int, char kind, int microbatch) {
    return fmt::format("{}{}.0.0", kind, microbatch);
}

/// Marks work alike for ops that state their micro-batch and for those that do not.
class StepMarksOfNames : public StepMarks,
                         public testing::WithParamInterface<std::string (*)(int rank, char kind, int microbatch)> {};

std::string namesOf(const testing::TestParamInfo<std::string (*)(int, char, int)>& info) {
    if (info.param == &rangeName) return "WithoutNumbers";
    return info.param == &torchName ? "Torch" : "ZeroBubble";
}
INSTANTIATE_TEST_SUITE_P(Ops, StepMarksOfNames, testing::Values(&torchName, &rangeName, &zeroBubbleName), namesOf);

TEST_P(StepMarksOfNames, NumberTheSteps) {
    writeJob([](int, int step) { return numbered(5 + step); }, GetParam());
    expectJob(5, 0);
}

TEST_P(StepMarksOfNames, MayBeRangesOfAFramework) {
    writeJob([](int, int step) { return fmt::format("training_step_{}", 5 + step); }, GetParam());
    expectJob(5, 0);
}

TEST_P(StepMarksOfNames, MayBeMissingOnARank) {
    writeJob([](int rank, int step) { return rank == 1 ? "" : numbered(5 + step); }, GetParam());
    expectJob(5, 1);
}

TEST_P(StepMarksOfNames, MayRepeatOnARank) {
    writeJob([](int rank, int step) { return numbered(rank == 0 ? 7 : 5 + step); }, GetParam());
    expectJob(5, 1);
}

TEST_P(StepMarksOfNames, MayBeShiftedOnARank) {
    // With two ranks either is shifted against the other; the one whose numbers are in order first is used.
    writeJob([](int rank, int step) { return numbered(5 + rank + step); }, GetParam());
    JobControl control;
    const auto run = loadRun({folder_.path()}, control);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().steps.size(), static_cast<std::size_t>(kSteps));
    EXPECT_EQ(countOf(run.value().problems, "step-marks"), 1);
}

TEST_P(StepMarksOfNames, MayAllBeEqual) {
    writeJob([](int, int) { return numbered(5); }, GetParam());
    expectJob(0, 2);
}

TEST_P(StepMarksOfNames, AreNotNeeded) {
    writeJob([](int, int) { return std::string(); }, GetParam());
    expectJob(0, 0);
}

TEST_P(StepMarksOfNames, AndOpsNeedNoCategory) {
    if (GetParam() == &torchName) GTEST_SKIP() << "PyTorch's profiler writes categories";
    writeJob([](int, int step) { return numbered(5 + step); }, GetParam(), "");
    expectJob(5, 0);
}

} // namespace
} // namespace bubblescope
