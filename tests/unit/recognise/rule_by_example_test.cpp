#include "core/base/job.h"
#include "core/recognise/rule_by_example.h"
#include "core/recognise/run.h"
#include "core/trace/trace_builder.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace bubblescope {
namespace {

using testing::HasSubstr;

TaughtOp taught(OpExample example) {
    return opByExample(example).value();
}

TEST(RuleByExample, NumbersBecomeFields) {
    EXPECT_EQ(taught({"fwd mb3 layer 12", OpKind::Forward, 3, {}, {}, {}}).pattern, "fwd mb{microbatch} layer *");
    EXPECT_EQ(taught({"2F7", OpKind::Forward, 7, {}, 2, {}}).pattern, "{stage}F{microbatch}");
    EXPECT_EQ(taught({"chunk1/mb1", OpKind::Backward, 1, 1, {}, {}}).pattern, "chunk{microbatch}/mb{chunk}")
        << "equal numbers are taken in their order";
    EXPECT_EQ(taught({"step [3] {x} *", OpKind::Forward, 3, {}, {}, {}}).pattern,
              "step \\[{microbatch}\\] \\{x\\} \\*");
    EXPECT_EQ(taught({"Optimizer.step#4", OpKind::Optimizer, 99, {}, {}, {}}).pattern, "Optimizer.step#*");
    EXPECT_EQ(taught({"b 99999999999999999999999 mb2", OpKind::Backward, 2, {}, {}, {}}).pattern, "b * mb{microbatch}");
}

TEST(RuleByExample, ArgsStateWhatTheNameDoesNot) {
    const auto with = [](std::int64_t value) -> std::optional<std::string> {
        return value == 5 ? std::optional<std::string>("mb_id") : std::nullopt;
    };
    const TaughtOp op = taught({"forward-compute", OpKind::Forward, 5, {}, {}, with});
    EXPECT_EQ(op.pattern, "forward-compute");
    EXPECT_EQ(op.args[static_cast<std::size_t>(RuleField::MicrobatchId)], "mb_id");
    const auto none = opByExample({"forward-compute", OpKind::Forward, 6, {}, {}, with});
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().kind, ErrorKind::Usage);
    EXPECT_THAT(none.error().text(), HasSubstr("microbatch 6"));
}

/// A pattern made of an example matches the example, and gives back what was stated.
TEST(RuleByExample, EveryExampleIsMatchedByItsPattern) {
    for (const std::string name : {"fwd 3", "a[3]b*c{d}\\e", "3", "x03y", "3 3 3", "mb=3,chunk=7", "µ3µ", "3\\"}) {
        const TaughtOp op = taught({name, OpKind::Forward, 3, {}, {}, {}});
        const auto pattern = NamePattern::parse(op.pattern, "here");
        ASSERT_TRUE(pattern.ok()) << op.pattern;
        const auto parts = pattern.value().match(name);
        ASSERT_TRUE(parts.has_value()) << name << " by " << op.pattern;
        EXPECT_EQ(parts->get(RuleField::MicrobatchId), 3);
    }
}

/// Two processes whose names no rule knows, each one stage of 1F1B with two micro-batches.
std::string foreignTrace() {
    std::string events;
    const auto add = [&](int pid, const std::string& name, int start, int length) {
        events += fmt::format(R"({}{{"ph":"X","pid":{},"tid":1,"name":"{}","ts":{},"dur":{}}})",
                              events.empty() ? "" : ",", pid, name, start, length);
    };
    for (int step = 0; step < 3; ++step) {
        const int at = step * 100;
        add(10, "vorwaerts 0", at, 5);
        add(10, "vorwaerts 1", at + 5, 5);
        add(20, "vorwaerts 0", at + 6, 5);
        add(20, "zurueck 0", at + 12, 8);
        add(20, "vorwaerts 1", at + 20, 5);
        add(20, "zurueck 1", at + 26, 8);
        add(10, "zurueck 0", at + 21, 8);
        add(10, "zurueck 1", at + 36, 8);
    }
    return R"({"traceEvents":[)" + events + "]}";
}

TEST(RuleByExample, ATaughtRuleFindsThePipeline) {
    const test::ScratchFolder folder;
    const std::filesystem::path trace = folder.path() / "foreign.json";
    std::ofstream(trace) << foreignTrace();
    JobControl control;
    const auto loaded = loadTrace({trace}, control);
    ASSERT_TRUE(loaded.ok());
    ASSERT_TRUE(loaded.value().no_pipeline.has_value());

    TaughtRule rule{"ours", {}, RankSource::File, true};
    rule.ops = {taught({"vorwaerts 1", OpKind::Forward, 1, {}, {}, {}}),
                taught({"zurueck 0", OpKind::Backward, 0, {}, {}, {}})};
    std::vector<TaughtMatches> matches;
    for (const TaughtOp& op : rule.ops)
        matches.push_back(matchesOf(op, *loaded.value().run.trace, control).value());
    EXPECT_EQ(matches[0].slices.size(), 12U);
    EXPECT_EQ(matches[0].first_microbatch, 0);
    EXPECT_EQ(matches[0].last_microbatch, 1);
    EXPECT_EQ(matches[0].tracks, 2U);
    rule.rank = likelyRankSource(matches, *loaded.value().run.trace);
    EXPECT_EQ(rule.rank, RankSource::Processes);

    // As a file, which is what --rules reads.
    const std::filesystem::path file = folder.path() / "rules.json";
    std::ofstream(file) << rulesDocument(rule);
    const auto rules = readRules(file.string());
    ASSERT_TRUE(rules.ok()) << rules.error().text();
    LoadOptions options;
    options.rules = rules.value().ops;
    const auto run = loadRun({trace}, control, options);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().annotation, "ours");
    EXPECT_EQ(run.value().schedule.pp, 2);
    EXPECT_EQ(run.value().schedule.microbatches, 2);
    EXPECT_EQ(run.value().steps.size(), 3U);
}

TEST(RuleByExample, AnInvalidPatternIsAnError) {
    TraceBuilder builder;
    DiagnosticLog log;
    builder.addFile({"a.json", "chrome", {}});
    const auto trace = builder.finish(log);
    JobControl control;
    EXPECT_FALSE(matchesOf({"a[", OpKind::Forward, {}}, *trace, control).ok());
    EXPECT_TRUE(matchesOf({"a", OpKind::Forward, {}}, *trace, control).value().slices.empty());
}

} // namespace
} // namespace bubblescope
