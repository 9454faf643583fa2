#include "core/families/registry.h"
#include "core/formats/perfetto/writer.h"
#include "core/graph/simulate.h"
#include "core/recognise/run.h"
#include "core/trace/trace.h"
#include "tests/unit/formats/packed.h"
#include "tests/unit/formats/trace_bytes.h"
#include "tests/unit/recognise/step_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace bubblescope {
namespace {

using testing::HasSubstr;

class NativeFiles : public testing::Test {
protected:
    Result<bubblescope::Run> load() {
        JobControl control;
        return loadRun({folder_.path()}, control);
    }

    test::ScratchFolder folder_;
};

using CommRow = std::tuple<CommKind, Payload, std::int32_t, std::int32_t, std::int32_t, std::int32_t, TimeNs, TimeNs>;

/// In a separate order: slices that begin at one instant have none.
std::vector<CommRow> rowsOf(const std::vector<CommSpan>& spans) {
    std::vector<CommRow> rows;
    for (const CommSpan& s : spans) {
        rows.emplace_back(s.kind, s.payload, s.microbatch.value, s.sequence, s.stage.value, s.peer.value, s.start,
                          s.end);
    }
    std::sort(rows.begin(), rows.end());
    return rows;
}

void expectSame(const StepTimeline& a, const StepTimeline& b) {
    EXPECT_EQ(a.index, b.index);
    EXPECT_EQ(a.begin, b.begin);
    EXPECT_EQ(a.end, b.end);
    ASSERT_EQ(a.ranks.size(), b.ranks.size());
    ASSERT_EQ(a.comm.size(), b.comm.size());
    for (std::size_t r = 0; r < a.ranks.size(); ++r) {
        ASSERT_EQ(a.ranks[r].size(), b.ranks[r].size());
        for (std::size_t i = 0; i < a.ranks[r].size(); ++i) {
            EXPECT_EQ(a.ranks[r][i].op, b.ranks[r][i].op);
            EXPECT_EQ(a.ranks[r][i].start, b.ranks[r][i].start);
            EXPECT_EQ(a.ranks[r][i].end, b.ranks[r][i].end);
            EXPECT_EQ(a.detailsOf(a.ranks[r][i]), b.detailsOf(b.ranks[r][i]));
        }
        EXPECT_EQ(rowsOf(a.comm[r]), rowsOf(b.comm[r])) << "rank " << r;
    }
}

std::vector<StepTimeline> threeSteps(const Schedule& schedule) {
    std::vector<StepTimeline> steps;
    for (int i = 0; i < 3; ++i)
        steps.push_back(test::packedStep(schedule, i + 4, TimeNs{i * 100'000'000}));
    StepTimeline& last = steps.back();
    last.setDetails(last.ranks[1][2], {TimeNs{1234}, TimeNs{0}, TimeNs{77}});
    last.ranks[0].push_back({{OpKind::Optimizer, {}, {}}, last.end, last.end + TimeNs{5000}});
    // Two sends at once need two lanes.
    last.comm[0].push_back(
        {CommKind::Send, Payload::Activation, Microbatch{0}, Stage{1}, Rank{1}, last.begin, last.begin + TimeNs{500}});
    last.comm[0].push_back({CommKind::Send, Payload::Activation, Microbatch{1}, Stage{1}, Rank{1},
                            last.begin + TimeNs{100}, last.begin + TimeNs{600}});
    last.comm[1].push_back({CommKind::Receive, Payload::Activation, Microbatch{0}, Stage{1}, Rank{0}, last.begin,
                            last.begin + TimeNs{500}});
    last.comm[1].push_back({CommKind::Wait, Payload::Gradient, Microbatch{0}, Stage{0}, Rank{1},
                            last.begin + TimeNs{700}, last.begin + TimeNs{800}});
    return steps;
}

TEST_F(NativeFiles, ComeBackAsTheyWereWritten) {
    const Schedule schedule = test::scheduleOf("interleaved", 2, 4, 2);
    RunInfo info = test::infoOf(schedule);
    info.paced = true;
    info.pace_tolerance = TimeNs{77};
    info.backend = "cpu";
    const auto steps = threeSteps(schedule);
    ASSERT_TRUE(perfetto::writeTimeline(folder_.path() / "run.pftrace", info, steps).ok());

    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_TRUE(run.value().problems.empty());
    EXPECT_EQ(run.value().format, "perfetto");
    EXPECT_EQ(run.value().schedule.name, schedule.name);
    EXPECT_EQ(run.value().schedule.flavor, schedule.flavor);
    EXPECT_FALSE(run.value().departure.has_value());
    ASSERT_TRUE(run.value().info.has_value());
    EXPECT_TRUE(run.value().info->paced);
    EXPECT_EQ(run.value().info->pace_tolerance, TimeNs{77});
    EXPECT_EQ(run.value().info->backend, "cpu");
    ASSERT_EQ(run.value().steps.size(), steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i)
        expectSame(steps[i], run.value().steps[i]);
}

Schedule withEncoders(Encoders encoders, int trunk) {
    ScheduleSpec spec{"1f1b", "", encoders.ranks() + trunk, 12};
    spec.encoders = encoders;
    return makeSchedule(spec).value();
}

StepTimeline simulatedStep(const Schedule& schedule) {
    CostModel costs;
    costs.times.forward = TimeNs{1000};
    costs.times.backward = TimeNs{2000};
    costs.comm = TimeNs{100};
    return simulate(schedule, costs).value();
}

TEST_F(NativeFiles, KeepEncodersAndTheirTransfers) {
    for (const Encoders encoders : {Encoders{2, 0}, Encoders{2, 1}, Encoders{1, 2}}) {
        const Schedule schedule = withEncoders(encoders, 3);
        const StepTimeline step = simulatedStep(schedule);
        ASSERT_TRUE(
            perfetto::writeTimeline(folder_.path() / "run.pftrace", test::infoOf(schedule), std::span(&step, 1)).ok());
        const auto run = load();
        ASSERT_TRUE(run.ok()) << run.error().text();
        EXPECT_TRUE(run.value().problems.empty());
        EXPECT_EQ(run.value().schedule.name, "1f1b");
        EXPECT_EQ(encodersOf(run.value().schedule.placement), encoders);
        EXPECT_FALSE(run.value().departure.has_value());
        ASSERT_EQ(run.value().steps.size(), 1U);
        expectSame(step, run.value().steps.front());
    }
}

/// As in a trace of a framework, which states neither the placement nor the stages of transfers.
TEST_F(NativeFiles, ShowTwoEncodersByTheirOrder) {
    for (const Encoders encoders : {Encoders{2, 1}, Encoders{1, 2}, Encoders{2, 2}, Encoders{1, 1}, Encoders{3, 1}}) {
        for (int trunk = 1; trunk <= 3; ++trunk) {
            const Schedule schedule = withEncoders(encoders, trunk);
            StepTimeline step = simulatedStep(schedule);
            for (auto& spans : step.comm)
                spans.clear();
            RunInfo info = test::infoOf(schedule);
            info.placement = Placement::Loop;
            ASSERT_TRUE(perfetto::writeTimeline(folder_.path() / "run.pftrace", info, std::span(&step, 1)).ok());
            const auto run = load();
            ASSERT_TRUE(run.ok()) << run.error().text();
            EXPECT_EQ(encodersOf(run.value().schedule.placement), encoders) << trunk;
            EXPECT_FALSE(run.value().departure.has_value());
        }
    }
    const Schedule chain = test::scheduleOf("1f1b", 4, 12, 1);
    const StepTimeline step = simulatedStep(chain);
    ASSERT_TRUE(perfetto::writeTimeline(folder_.path() / "run.pftrace", test::infoOf(chain), std::span(&step, 1)).ok());
    EXPECT_EQ(load().value().schedule.placement, Placement::Loop);
}

/// For the first bytes of a file, plain or packed, or of one file per rank.
TEST_F(NativeFiles, ShowTheirFirstStepsWithoutTheOthers) {
    constexpr int kSteps = 400;
    const Schedule schedule = test::scheduleOf("1f1b", 4, 8);
    std::vector<StepTimeline> steps;
    for (int i = 0; i < kSteps; ++i)
        steps.push_back(test::packedStep(schedule, i, TimeNs{100'000'000} * i));
    const auto writeTo = [&](const std::filesystem::path& file, const std::vector<StepTimeline>& what) {
        ASSERT_TRUE(perfetto::writeTimeline(file, test::infoOf(schedule), what).ok());
    };
    const auto one = folder_.path() / "one" / "run.pftrace";
    const auto packed = folder_.path() / "packed" / "run.pftrace.gz";
    const auto of_ranks = folder_.path() / "of-ranks";
    for (const auto& folder : {one.parent_path(), packed.parent_path(), of_ranks})
        std::filesystem::create_directory(folder);
    writeTo(one, steps);
    folder_.write("packed/run.pftrace.gz", test::gzipped(test::readAll(one)));
    for (std::size_t rank = 0; rank < 4; ++rank) {
        std::vector<StepTimeline> own = steps;
        for (StepTimeline& step : own) {
            for (std::size_t other = 0; other < 4; ++other) {
                if (other == rank) continue;
                step.ranks[other].clear();
                step.comm[other].clear();
            }
        }
        writeTo(of_ranks / ("rank" + std::to_string(rank) + ".pftrace"), own);
    }
    for (const auto& path : {one.parent_path(), packed.parent_path(), of_ranks}) {
        SCOPED_TRACE(path.filename());
        LoadOptions options;
        options.first_bytes = std::filesystem::file_size(one) / 8;
        JobControl control;
        const auto begun = loadRun({path}, control, options);
        ASSERT_TRUE(begun.ok()) << begun.error().text();
        const std::vector<StepTimeline>& found = begun.value().steps;
        EXPECT_GT(found.size(), kSteps / 20U);
        EXPECT_LT(found.size(), kSteps / 6U);
        for (std::size_t i = 0; i < found.size(); ++i)
            expectSame(found[i], steps[i]);
    }
}

TEST_F(NativeFiles, OfWhichNoStepIsInTheFirstBytesHaveNoRunThere) {
    const Schedule schedule = test::scheduleOf("1f1b", 4, 8);
    const std::vector steps{test::packedStep(schedule, 0, TimeNs{0})};
    ASSERT_TRUE(perfetto::writeTimeline(folder_.path() / "a", test::infoOf(schedule), steps).ok());
    JobControl control;
    LoadOptions options;
    options.first_bytes = std::filesystem::file_size(folder_.path() / "a") / 2;
    const auto begun = loadRun({folder_.path()}, control, options);
    ASSERT_FALSE(begun.ok());
    EXPECT_EQ(begun.error().kind, ErrorKind::Input);
}

TEST_F(NativeFiles, LinkEveryTransfersProducerWithItsConsumer) {
    const Schedule schedule = test::scheduleOf("1f1b", 3, 4);
    const std::vector steps{test::packedStep(schedule, 0, TimeNs{0})};
    ASSERT_TRUE(perfetto::writeTimeline(folder_.path() / "a", test::infoOf(schedule), steps).ok());
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    std::map<std::uint64_t, std::vector<std::string>> linked;
    for (const FlowPoint& point : run.value().trace->flowPoints()) {
        linked[point.id].emplace_back(run.value().trace->name(point.slice));
    }
    EXPECT_EQ(linked.size(), 2U * 2 * 4) << "activations and gradients of 4 micro-batches over 2 borders";
    for (const auto& [id, ops] : linked) {
        ASSERT_EQ(ops.size(), 2U);
        EXPECT_EQ(ops[0], ops[1]) << "the same micro-batch's op, one stage on";
    }
}

/// Whatever the registry makes, overlapped pairs, two pipelines and sequence slices included.
TEST_F(NativeFiles, OfEveryFamilyComeBackUnderTheirName) {
    CostModel costs;
    costs.times = makeOpTimes(test::kForwardTime, test::kBackwardTime, {}, {}).value();
    costs.comm = TimeNs{100'000};
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (const std::string_view flavor : flavorsOf(family)) {
            int found = 0;
            for (const auto& [m, v] : {std::pair{8, 1}, {8, 2}, {6, 2}, {4, 2}, {8, 4}, {12, 2}}) {
                ScheduleSpec spec{std::string(family.name), std::string(flavor), 4, m, v};
                spec.sequence_slices = 2;
                const auto schedule = makeSchedule(spec);
                if (!schedule.ok()) continue;
                SCOPED_TRACE(schedule.value().name + "/" + schedule.value().flavor + " m=" + std::to_string(m));
                const auto step = simulate(schedule.value(), costs);
                if (!step.ok()) continue; // an order of Paddle's that deadlocks
                ++found;
                const test::ScratchFolder folder;
                const std::vector steps{step.value()};
                ASSERT_TRUE(perfetto::writeTimeline(folder.path() / "a", test::infoOf(schedule.value()), steps).ok());
                JobControl control;
                const auto run = loadRun({folder.path()}, control);
                ASSERT_TRUE(run.ok()) << run.error().text();
                EXPECT_TRUE(run.value().problems.empty()) << run.value().problems.front().message.text();
                EXPECT_FALSE(run.value().departure.has_value());
                EXPECT_EQ(run.value().schedule.name, schedule.value().name);
                EXPECT_EQ(run.value().schedule.flavor, schedule.value().flavor);
                ASSERT_EQ(run.value().steps.size(), 1U);
                expectSame(step.value(), run.value().steps.front());
            }
            EXPECT_GT(found, 0) << family.name << '/' << flavor;
        }
    }
}

TEST_F(NativeFiles, LinkTransfersWithinTheirPipelineAndSlice) {
    ScheduleSpec sliced{"seq1f1b", "", 2, 3, 1};
    sliced.sequence_slices = 2;
    for (const ScheduleSpec& spec : {ScheduleSpec{"dualpipe", "", 2, 4, 2}, sliced}) {
        const Schedule schedule = makeSchedule(spec).value();
        const test::ScratchFolder folder;
        const std::vector steps{test::packedStep(schedule, 0, TimeNs{0})};
        ASSERT_TRUE(perfetto::writeTimeline(folder.path() / "a", test::infoOf(schedule), steps).ok());
        JobControl control;
        const auto run = loadRun({folder.path()}, control);
        ASSERT_TRUE(run.ok()) << run.error().text();
        std::map<std::uint64_t, std::vector<std::string>> linked;
        for (const FlowPoint& point : run.value().trace->flowPoints())
            linked[point.id].emplace_back(run.value().trace->name(point.slice));
        EXPECT_EQ(linked.size(), spec.name == "dualpipe" ? 2U * 4 : 2U * 3 * 2) << "over one border, both ways";
        for (const auto& [id, ops] : linked) {
            ASSERT_EQ(ops.size(), 2U);
            EXPECT_EQ(ops[0].substr(1), ops[1].substr(1)) << "the same micro-batch, chunk and slice; B or I";
        }
    }
}

/// A rank of the second pipeline did not finish its micro-batch.
TEST_F(NativeFiles, OfTwoPipelinesKeepOnlyCompleteSteps) {
    const Schedule schedule = makeSchedule({"chimera", "", 2, 2, 2}).value();
    std::vector<StepTimeline> steps;
    for (int i = 0; i < 2; ++i)
        steps.push_back(test::packedStep(schedule, i, TimeNs{i * 100'000'000}));
    std::erase_if(steps[0].ranks[0],
                  [](const TimelineOp& op) { return op.op.kind == OpKind::Backward && op.op.chunk == Chunk{1}; });
    ASSERT_TRUE(perfetto::writeTimeline(folder_.path() / "a", test::infoOf(schedule), steps).ok());
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_EQ(run.value().steps.size(), 1U);
    EXPECT_EQ(run.value().steps.front().index, 1);
    EXPECT_THAT(run.value().problems,
                testing::Contains(testing::Field(
                    &Diagnostic::where, testing::Property(&Sentence::text, HasSubstr("rank 0 is missing B1.1")))));
}

TEST_F(NativeFiles, OfTwoRunsAreNotTakenForOne) {
    const Schedule schedule = test::scheduleOf("1f1b", 2, 2);
    const std::vector steps{test::packedStep(schedule, 0, TimeNs{0})};
    ASSERT_TRUE(perfetto::writeTimeline(folder_.path() / "a.pftrace", test::infoOf(schedule), steps).ok());
    ASSERT_TRUE(load().ok());
    ASSERT_TRUE(perfetto::writeTimeline(folder_.path() / "b.pftrace", test::infoOf(schedule), steps).ok());
    const auto both = load();
    ASSERT_FALSE(both.ok());
    EXPECT_THAT(both.error().text(), HasSubstr("twice"));
    EXPECT_THAT(both.error().hint, HasSubstr("give only the files of one"));
}

TEST_F(NativeFiles, KeepTheNameOfTheirScheduleWhereSeveralFit) {
    // With one rank and one micro-batch every family has the same order.
    const Schedule schedule = test::scheduleOf("1f1b", 1, 1);
    const std::vector steps{test::packedStep(schedule, 0, TimeNs{0})};
    ASSERT_TRUE(perfetto::writeTimeline(folder_.path() / "a", test::infoOf(schedule), steps).ok());
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().schedule.name, "1f1b");
}

TEST_F(NativeFiles, ReplaceAnOlderFileOnlyWhenComplete) {
    const auto file = folder_.write("run.pftrace", "old");
    const Schedule schedule = test::scheduleOf("1f1b", 2, 2);
    const std::vector steps{test::packedStep(schedule, 0, TimeNs{0})};
    ASSERT_TRUE(perfetto::writeTimeline(file, test::infoOf(schedule), steps).ok());
    EXPECT_NE(test::readAll(file), "old");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1) << "nothing is left behind";

    const Status failed = perfetto::writeTimeline(folder_.path() / "absent/run", test::infoOf(schedule), steps);
    ASSERT_FALSE(failed.ok());
    EXPECT_THAT(failed.error().text(), HasSubstr("absent/run"));
}

// A run killed at any moment: either complete steps are found, or the error states why there are none.
TEST_F(NativeFiles, SurviveACutAtAnyByte) {
    const Schedule schedule = test::scheduleOf("1f1b", 2, 2);
    std::vector<StepTimeline> steps;
    for (int i = 0; i < 2; ++i)
        steps.push_back(test::packedStep(schedule, i, TimeNs{i * 10'000'000}));
    const auto file = folder_.path() / "run.pftrace";
    ASSERT_TRUE(perfetto::writeTimeline(file, test::infoOf(schedule), steps).ok());
    const std::string bytes = test::readAll(file);
    std::size_t most = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        std::filesystem::remove(file);
        folder_.write("run.pftrace", std::string_view(bytes).substr(0, size));
        const auto run = load();
        if (!run.ok()) {
            EXPECT_EQ(run.error().kind, ErrorKind::Input);
            EXPECT_EQ(most, 0U) << size;
            continue;
        }
        EXPECT_GE(run.value().steps.size(), most) << size;
        most = run.value().steps.size();
        expectSame(steps[0], run.value().steps[0]);
    }
    EXPECT_EQ(most, 1U) << "without its last byte the second step is not complete";
}

TEST_F(NativeFiles, SayWhichRanksAreMissing) {
    const Schedule schedule = test::scheduleOf("1f1b", 4, 4);
    RunInfo info = test::infoOf(schedule);
    StepTimeline step = test::packedStep(schedule, 0, TimeNs{0});
    step.ranks.resize(2); // the files of two ranks were not copied
    ASSERT_TRUE(perfetto::writeTimeline(folder_.path() / "run", info, std::vector{step}).ok());
    const auto run = load();
    ASSERT_FALSE(run.ok());
    EXPECT_THAT(run.error().message, HasSubstr("ranks 2 and 3 are missing (found only ops of ranks 0 and 1)"));
}

} // namespace
} // namespace bubblescope
