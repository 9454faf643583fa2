// Forwards and backwards that frameworks run as one call, by the names in their recordings.

#include "core/graph/simulate.h"
#include "core/recognise/join_parts.h"
#include "core/recognise/run.h"
#include "tests/support/sqlite_file.h"
#include "tests/unit/formats/trace_bytes.h"
#include "tests/unit/recognise/step_maker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bubblescope {
namespace {

struct NamedRange {
    std::string name;
    TimeNs start;
    TimeNs end;
};

/// A forward, a backward, or a pair of both.
struct Call {
    std::optional<Op> forward;
    std::optional<Op> backward;
    TimeNs start{0};
    TimeNs end{0};
};

std::vector<Call> callsOf(const std::vector<TimelineOp>& ops) {
    std::vector<Call> calls;
    for (const TimelineOp& op : ops) {
        const bool second = op.op.overlapped && op.op.kind == OpKind::Backward;
        Call& call = second ? calls.back() : calls.emplace_back();
        (op.op.kind == OpKind::Forward ? call.forward : call.backward) = op.op;
        call.start = op.start;
        call.end = op.end;
    }
    return calls;
}

/// The ranges of Megatron-core 0.16 in a call: TransformerModelChunkSchedulePlan.run() in
/// megatron/core/models/common/model_chunk_schedule_plan.py, ScheduleNode in megatron/core/pipeline_parallel/utils.py,
/// and the loss in combined_forward_backward_step() in megatron/core/pipeline_parallel/combined_1f1b.py.
std::vector<NamedRange> megatronRanges(const Call& call, int layers, Rank rank, const Schedule& schedule) {
    const auto isLast = [&](const Op& op) { return schedule.stageOf(rank, op.chunk).value == schedule.stages() - 1; };
    std::vector<std::vector<std::string>> groups; // the first name is the range around the others
    if (call.forward) groups.push_back({"pre_process forward"});
    if (call.backward && isLast(*call.backward)) groups.push_back({"post_process backward"});
    for (int i = 0; i < layers; ++i) {
        const std::string f = fmt::format("layer_{}f", i);
        const std::string b = fmt::format("layer_{}b", layers - 1 - i);
        std::vector<std::string>& group = groups.emplace_back();
        group.push_back(call.forward && call.backward ? f + "-" + b : call.forward ? f : b);
        if (call.backward) group.insert(group.end(), {"moe_combine backward", "mlp backward", "mlp wgrad"});
        if (call.forward)
            group.insert(group.end(), {"attn forward", "moe_dispatch forward", "mlp forward", "moe_combine forward"});
        if (call.backward) group.insert(group.end(), {"moe_dispatch backward", "attn backward"});
    }
    if (call.backward) groups.push_back({"attn wgrad"});
    if (call.forward && isLast(*call.forward)) groups.push_back({"post_process forward"});
    if (call.backward) groups.push_back({"pre_process backward"});
    if (call.forward && isLast(*call.forward)) groups.push_back({"loss_func forward"});

    std::vector<NamedRange> ranges;
    const TimeNs each = (call.end - call.start) / std::ssize(groups);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const TimeNs start = call.start + each * static_cast<std::int64_t>(g);
        ranges.push_back({groups[g].front(), start, g + 1 == groups.size() ? call.end : start + each});
        const TimeNs part = each / std::ssize(groups[g]);
        for (std::size_t i = 1; i < groups[g].size(); ++i) {
            const TimeNs at = start + part * static_cast<std::int64_t>(i - 1);
            ranges.push_back({groups[g][i], at, at + part});
        }
    }
    return ranges;
}

class CombinedOps : public testing::Test {
protected:
    static constexpr int kSteps = 2;

    static StepTimeline timed(const Schedule& schedule) {
        CostModel costs;
        costs.times = {.forward = test::kForwardTime,
                       .backward = test::kBackwardTime,
                       .input_grad = test::kForwardTime,
                       .weight_grad = test::kForwardTime};
        return simulate(schedule, costs).value();
    }

    template <class RangesOf>
    std::vector<std::vector<NamedRange>> ranges(const Schedule& schedule, RangesOf rangesOf) const {
        const StepTimeline step = timed(schedule);
        std::vector<std::vector<NamedRange>> all(step.ranks.size());
        for (int number = 0; number < kSteps; ++number) {
            const TimeNs shift = (step.end - step.begin) * (2 * number) + TimeNs{1'000'000};
            for (std::size_t r = 0; r < step.ranks.size(); ++r) {
                for (Call call : callsOf(step.ranks[r])) {
                    call.start += shift;
                    call.end += shift;
                    const auto more = rangesOf(call, Rank{r});
                    all[r].insert(all[r].end(), more.begin(), more.end());
                }
            }
        }
        return all;
    }

    void writeChrome(const std::vector<std::vector<NamedRange>>& ranks, const char* category) {
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            std::string events;
            for (const NamedRange& range : ranks[r]) {
                events += fmt::format(R"({}{{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":1,"ts":{},"dur":{}}})",
                                      events.empty() ? "" : ",", category, range.name,
                                      static_cast<double>(range.start.count()) / 1e3,
                                      static_cast<double>((range.end - range.start).count()) / 1e3);
            }
            folder_.write(
                fmt::format("r{}.json", r),
                fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"rank":{}}},"traceEvents":[{}]}})", r, events));
        }
    }

    void writeNsight(const std::vector<std::vector<NamedRange>>& ranks) {
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            std::string sql = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
                              "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid "
                              "INTEGER, text TEXT);";
            for (const NamedRange& range : ranks[r]) {
                sql += fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, 83886089, '{}');", range.start.count(),
                                   range.end.count(), range.name);
            }
            folder_.write(fmt::format("rank{}.sqlite", r), test::databaseOf(scratch_, sql));
        }
    }

    void expectRun(const Schedule& schedule, const std::string& annotation) {
        JobControl control;
        const auto run = loadRun({folder_.path()}, control);
        ASSERT_TRUE(run.ok()) << run.error().text();
        EXPECT_EQ(run.value().annotation, annotation);
        EXPECT_EQ(run.value().schedule.name, schedule.name);
        EXPECT_FALSE(run.value().departure.has_value());
        EXPECT_EQ(run.value().schedule.ranks, schedule.ranks);
        ASSERT_EQ(run.value().steps.size(), static_cast<std::size_t>(kSteps));
        const StepTimeline expected = timed(schedule);
        const StepTimeline& step = run.value().steps[1];
        EXPECT_EQ(step.wall(), expected.wall());
        EXPECT_EQ(step.placement, schedule.placement);
        for (std::size_t r = 0; r < expected.ranks.size(); ++r) {
            ASSERT_EQ(step.ranks[r].size(), expected.ranks[r].size());
            for (std::size_t i = 0; i < expected.ranks[r].size(); ++i) {
                EXPECT_EQ(step.ranks[r][i].op, expected.ranks[r][i].op);
                EXPECT_EQ(step.ranks[r][i].duration(), expected.ranks[r][i].duration());
            }
        }
    }

    test::ScratchFolder folder_;
    test::ScratchFolder scratch_;
};

TEST_F(CombinedOps, MegatronsLayersBecomePairsWithTheirChunks) {
    const Schedule schedule = test::scheduleOf("interleaved-overlap", 2, 4, 2);
    const auto all =
        ranges(schedule, [&](const Call& call, Rank rank) { return megatronRanges(call, 3, rank, schedule); });
    writeNsight(all);
    expectRun(schedule, "Megatron combined 1F1B");
    JobControl control;
    const auto read = readTraces({folder_.path()}, control);
    ASSERT_TRUE(read.ok());
    EXPECT_NE(test::findSlice(*read.value().trace, "moe_dispatch forward"), kNoId) << "parts remain slices";
    std::filesystem::remove(folder_.path() / "rank0.sqlite");
    std::filesystem::remove(folder_.path() / "rank1.sqlite");
    writeChrome(all, "nvtx");
    expectRun(schedule, "Megatron combined 1F1B");
}

TEST_F(CombinedOps, MegatronsPairsOfOneRank) {
    const Schedule schedule = test::scheduleOf("1f1b-overlap", 1, 4);
    writeNsight(ranges(schedule, [&](const Call& call, Rank rank) { return megatronRanges(call, 2, rank, schedule); }));
    expectRun(schedule, "Megatron combined 1F1B");
}

/// Ranges of other chunked schedules without numbers.
TEST_F(CombinedOps, ChunksAreInferredFromTheOrder) {
    const Schedule schedule = test::scheduleOf("interleaved", 2, 4, 2);
    writeChrome(
        ranges(
            schedule,
            [](const Call& call, Rank) {
                return std::vector{NamedRange{call.forward ? "forward_step" : "backward_step", call.start, call.end}};
            }),
        "nvtx");
    expectRun(schedule, "Megatron ranges");
}

/// Scopes of _PipelineScheduleRuntime in torch/distributed/pipelining/schedules.py, which torchtitan uses too.
TEST_F(CombinedOps, TorchsDualPipeVIsNamed) {
    const Schedule schedule = makeSchedule({"dualpipev", "torch", 2, 6, 2}).value();
    const auto actionOf = [&schedule](const Op& op, Rank rank) {
        return fmt::format("{}{}{}", schedule.stageOf(rank, op.chunk).value, opLetter(op.kind), op.microbatch.value);
    };
    writeChrome(ranges(schedule,
                       [&](const Call& call, Rank rank) {
                           std::string name = actionOf(call.forward ? *call.forward : *call.backward, rank);
                           if (call.forward && call.backward)
                               name = fmt::format("({};{})OVERLAP_F_B", name, actionOf(*call.backward, rank));
                           return std::vector{NamedRange{"PP:" + name, call.start, call.end}};
                       }),
                "user_annotation");
    expectRun(schedule, "PyTorch pipeline actions");
}

class JoinedParts : public testing::Test {
protected:
    void add(RulePart part, std::vector<OpKind> kinds) {
        RuleMatch range;
        range.slice = ++number_;
        range.start = TimeNs{10 * number_};
        range.end = range.start + TimeNs{5};
        joiner_.add(range, part, kinds);
    }
    [[nodiscard]] std::string joined() {
        joiner_.finish();
        std::string text;
        for (const RuleMatch& op : ops_) {
            text += fmt::format("{}{}{}-{} ", opLetter(*op.kind), op.overlapped ? "o" : "", op.start.count() / 10,
                                op.end.count() / 10);
        }
        return text;
    }

    static constexpr OpKind kF = OpKind::Forward;
    static constexpr OpKind kB = OpKind::Backward;
    std::vector<RuleMatch> ops_;
    PartJoiner joiner_{ops_};
    std::uint32_t number_ = 0;
};

// A forward of one layer with a backward of three, and the reverse.
TEST_F(JoinedParts, HalvesMayHaveDifferentNumbersOfLayers) {
    add(RulePart::First, {kF});
    add(RulePart::Inner, {kF, kB});
    add(RulePart::Inner, {kB});
    add(RulePart::Inner, {kB});
    add(RulePart::Last, {kB});
    add(RulePart::First, {kF});
    add(RulePart::Inner, {kF, kB});
    add(RulePart::Inner, {kF});
    add(RulePart::Inner, {kF});
    add(RulePart::Last, {kB});
    add(RulePart::Last, {kF});
    EXPECT_EQ(joined(), "Fo1-5 Bo1-5 Fo6-11 Bo6-11 ");
}

TEST_F(JoinedParts, ABackwardAfterAForwardIsAnotherCall) {
    add(RulePart::First, {kF});
    add(RulePart::Inner, {kF});
    add(RulePart::Inner, {kB});
    add(RulePart::Last, {kB});
    add(RulePart::First, {kB});
    add(RulePart::Inner, {kB});
    add(RulePart::Last, {kB});
    add(RulePart::Inner, {kB});
    EXPECT_EQ(joined(), "F1-2 B3-4 B5-7 B8-8 ");
}

TEST_F(JoinedParts, ABackwardWithoutLayersBelongsToItsPair) {
    add(RulePart::First, {kF});
    add(RulePart::First, {kB}); // the output layer, then no layers of the forward's stage
    add(RulePart::Inner, {kB});
    add(RulePart::Last, {kB});
    add(RulePart::First, {kF});
    add(RulePart::Last, {kF});
    EXPECT_EQ(joined(), "Fo1-4 Bo1-4 F5-6 ");
}

} // namespace
} // namespace bubblescope
