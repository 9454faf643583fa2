// Parts of schedules with more than one op at a time or one pipeline: overlapped pairs, two pipelines over the same
// ranks, micro-batches split along the sequence.

#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/schedule/dependency.h"
#include "core/schedule/schedule_files.h"
#include "core/schedule/stage_ways.h"
#include "core/timeline/text_chart.h"
#include "core/timeline/transfers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope {
namespace {

Op op(std::string_view name, bool overlapped = false) {
    Op parsed = parseOpName(name).value();
    parsed.overlapped = overlapped;
    return parsed;
}

Schedule custom(int microbatches, int vpp, Placement placement, std::vector<std::vector<Op>> ranks) {
    const int pp = static_cast<int>(ranks.size());
    return {"custom", "", pp, microbatches, vpp, placement, std::move(ranks)};
}

/// Two ranks, two micro-batches, rank 1 runs its steady part as one pair.
Schedule paired() {
    return custom(2, 1, Placement::Loop,
                  {{op("F0"), op("F1"), op("B0"), op("B1")}, {op("F0"), op("F1", true), op("B0", true), op("B1")}});
}

/// One micro-batch down, one up; ids as the caller likes.
Schedule twoWay(std::string down, std::string up) {
    const auto f = [](const std::string& id, int chunk) { return op("F" + id + "." + std::to_string(chunk)); };
    const auto b = [](const std::string& id, int chunk) { return op("B" + id + "." + std::to_string(chunk)); };
    return custom(2, 2, Placement::Bidirectional,
                  {{f(down, 0), f(up, 1), b(up, 1), b(down, 0)}, {f(up, 1), f(down, 0), b(down, 0), b(up, 1)}});
}

CostModel pairCosts(int forward, int backward, std::optional<TimeNs> overlapped = {}) {
    CostModel model;
    model.times = makeOpTimes(TimeNs{forward}, TimeNs{backward}, {}, {}).value();
    model.overlapped = overlapped;
    return model;
}

std::vector<ScheduleProblem> only(const Schedule& schedule, std::string_view kind) {
    auto problems = validate(schedule);
    EXPECT_FALSE(problems.empty());
    for (const auto& problem : problems)
        EXPECT_EQ(problem.kind, kind) << problem.message.text();
    return problems;
}

TEST(Pairs, GraphKnowsTheOtherHalf) {
    const OpGraph graph(paired());
    EXPECT_EQ(graph.partner(5), 6);
    EXPECT_EQ(graph.partner(6), 5);
    EXPECT_EQ(graph.partner(4), kNoOp);
    EXPECT_EQ(graph.partner(0), kNoOp);
    EXPECT_EQ(executionOrder(graph).order.size(), 8U);
}

TEST(Pairs, RunTogetherForThePairsTime) {
    for (const auto& [given, expected] : {std::pair<std::optional<TimeNs>, int>{{}, 5}, {TimeNs{4}, 4}}) {
        const StepTimeline step = simulate(paired(), pairCosts(2, 3, given)).value();
        const auto& rank = step.ranks[1];
        EXPECT_EQ(rank[1].start, TimeNs{4});
        EXPECT_EQ(rank[1].start, rank[2].start);
        EXPECT_EQ(rank[1].end, rank[2].end);
        EXPECT_EQ(rank[1].duration(), TimeNs{expected});
        EXPECT_EQ(step.ranks[0][2].start, rank[2].end) << "B0 of rank 0 waits for the whole pair";
    }
}

TEST(Pairs, StartWhenTheInputsOfBothHalvesAreThere) {
    // Rank 0 pairs F1 with B0, whose gradient arrives late.
    const Schedule schedule =
        custom(2, 1, Placement::Loop,
               {{op("F0"), op("F1", true), op("B0", true), op("B1")}, {op("F0"), op("B0"), op("F1"), op("B1")}});
    const StepTimeline step = simulate(schedule, pairCosts(2, 3)).value();
    EXPECT_EQ(step.ranks[0][1].start, TimeNs{2 + 2 + 3});
    EXPECT_EQ(step.ranks[1][2].start, step.ranks[0][1].end);
}

TEST(Pairs, AHalfAloneIsAProblem) {
    Schedule lonely = paired();
    lonely.ranks[0][1].overlapped = true;
    const auto problems = only(lonely, "pair");
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].rank, Rank{0});
    EXPECT_EQ(problems[0].index, 1U);

    Schedule three = paired();
    three.ranks[1][3].overlapped = true;
    EXPECT_EQ(only(three, "pair").front().index, 3U) << "of three in a row the first two are the pair";
}

TEST(Pairs, APairThatWaitsForItsOwnHalfIsADeadlock) {
    for (const bool backward_first : {false, true}) {
        Schedule schedule = custom(1, 1, Placement::Loop, {{op("F0", true), op("B0", true)}});
        if (backward_first) std::swap(schedule.ranks[0][0], schedule.ranks[0][1]);
        const auto problems = only(schedule, "deadlock");
        ASSERT_EQ(problems.size(), 1U);
        EXPECT_NE(problems[0].message.text().find("B0.0 on rank 0 waits for its own other half, F0.0 on rank 0"),
                  std::string::npos)
            << problems[0].message.text();
        EXPECT_FALSE(simulate(schedule, pairCosts(1, 1)).ok());
    }
}

TEST(Pairs, ADeadlockNamesTheHalfThatWaits) {
    // Rank 0 pairs F1 with B0; rank 1 wants F1 before it does B0.
    const Schedule schedule =
        custom(2, 1, Placement::Loop,
               {{op("F0"), op("F1", true), op("B0", true), op("B1")}, {op("F0"), op("F1"), op("B0"), op("B1")}});
    const auto problems = only(schedule, "deadlock");
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_NE(problems[0].message.text().find("B0.0 on rank 0 waits for B0.0 on rank 1"), std::string::npos)
        << problems[0].message.text();
    EXPECT_NE(problems[0].message.text().find("F1.0 on rank 1 waits for F1.0 on rank 0"), std::string::npos)
        << problems[0].message.text();
}

TEST(Pairs, ChartAndOrderShowThem) {
    EXPECT_EQ(textChart(simulate(paired(), pairCosts(1, 1)).value()), "rank 0 | F0   F1   .    .    B0   B1\n"
                                                                      "rank 1 | .    F0   F1B0 -    B1   .\n");
    EXPECT_EQ(orderText(paired()), "rank 0 | F0 F1 B0 B1\nrank 1 | F0 F1 B0 B1\n");
}

TEST(Routes, StagesOfTwoPipelinesAlternate) {
    // p = 3, two chunks for each pipeline: within one, there and back.
    const Placement two = Placement::Bidirectional;
    EXPECT_EQ(stageOf(two, 3, Rank{0}, Chunk{0}), Stage{0});
    EXPECT_EQ(stageOf(two, 3, Rank{2}, Chunk{1}), Stage{1});
    EXPECT_EQ(stageOf(two, 3, Rank{2}, Chunk{2}), Stage{6});
    EXPECT_EQ(stageOf(two, 3, Rank{0}, Chunk{3}), Stage{7});
    for (int stage = 0; stage < 12; ++stage) {
        const Location at = locate(two, 3, Stage{stage});
        EXPECT_EQ(stageOf(two, 3, at.rank, at.chunk), Stage{stage});
    }
    EXPECT_EQ(placementFromName(placementName(two)), two);
}

TEST(Routes, DataFlowsWithinAPipeline) {
    const Schedule schedule = twoWay("0", "1");
    const OpGraph graph(schedule);
    EXPECT_EQ(graph.producers(5).stage, 0) << "F0.0 on rank 1 after F0.0 on rank 0";
    EXPECT_EQ(graph.producers(1).stage, 4) << "F1.1 on rank 0 after F1.1 on rank 1";
    EXPECT_EQ(graph.producers(4).stage, kNoOp);
    EXPECT_EQ(graph.producers(3).stage, 6) << "B0.0 on rank 0 after B0.0 on rank 1";
    EXPECT_TRUE(validate(schedule).empty());
    EXPECT_EQ(simulate(schedule, pairCosts(1, 1)).value().wall(), TimeNs{4});
}

TEST(Routes, MicrobatchesAreNumberedThroughOrPerDirection) {
    EXPECT_TRUE(validate(twoWay("0", "1")).empty());
    EXPECT_TRUE(validate(twoWay("0", "0")).empty());
    EXPECT_TRUE(validate(twoWay("1", "0")).empty());
}

TEST(Routes, AMicrobatchIsMissingWhereNoneRunsTheOtherWay) {
    Schedule one_way = twoWay("0", "1");
    for (auto& ops : one_way.ranks)
        std::erase_if(ops, [](const Op& o) { return o.chunk.value == 1; });
    EXPECT_NE(
        only(one_way, "missing").front().message.text().find("the two directions run 1 micro-batches in total, not 2"),
        std::string::npos);

    Schedule half_way = twoWay("0", "1");
    half_way.ranks[0].erase(half_way.ranks[0].begin() + 1); // F1.1 of rank 0
    EXPECT_EQ(only(half_way, "missing").front().message.text(), "rank 0 never runs F1.1");
}

TEST(Routes, TwoPipelinesNeedAnEvenNumberOfChunks) {
    Schedule odd = twoWay("0", "1");
    odd.vpp = 3;
    EXPECT_EQ(only(odd, "chunk-count").size(), 1U);
    odd.vpp = 1;
    EXPECT_EQ(OpGraph(odd).size(), 8) << "built from any schedule, valid or not";

    const auto read = scheduleFromJson(R"({"ranks":[[["F",0,0],["B",0,0]]],"placement":"bidirectional"})", "x.json");
    ASSERT_FALSE(read.ok());
    EXPECT_NE(read.error().text().find("even number of chunks"), std::string::npos) << read.error().text();
}

/// One micro-batch in two slices through two stages; gradients come back last slice first.
Schedule sliced() {
    const std::vector<Op> ops{op("F0.0:0"), op("F0.0:1"), op("B0.0:1"), op("B0.0:0")};
    return custom(1, 1, Placement::Loop, {ops, ops});
}

TEST(SequenceSlices, EachSliceHasItsOwnProducers) {
    const OpGraph graph(sliced());
    EXPECT_EQ(graph.sequenceSlices(), 2);
    EXPECT_EQ(graph.producers(4).stage, 0);
    EXPECT_EQ(graph.producers(5).stage, 1);
    EXPECT_EQ(graph.producers(2).stage, 6);
    EXPECT_EQ(graph.producers(2).own, 1);
    EXPECT_EQ(graph.find(OpKind::Backward, Microbatch{0}, Stage{1}, 1), 6);
    EXPECT_TRUE(validate(sliced()).empty());
    EXPECT_EQ(simulate(sliced(), pairCosts(1, 2)).value().wall(), TimeNs{1 + 2 + 4 + 2});
}

TEST(SequenceSlices, MissingAndDuplicateSlicesAreNamed) {
    Schedule missing = sliced();
    missing.ranks[1].erase(missing.ranks[1].begin() + 1);
    EXPECT_EQ(only(missing, "missing").front().message.text(), "rank 1 never runs F0.0:1");

    Schedule twice = sliced();
    twice.ranks[0].push_back(op("B0.0:1"));
    EXPECT_EQ(only(twice, "duplicate").front().message.text(), "B0.0:1 on rank 0 repeats B0.0:1 on rank 0");
}

TEST(SequenceSlices, ChartShowsThem) {
    EXPECT_EQ(orderText(sliced()), "rank 0 | F0 F0:1 B0:1 B0\nrank 1 | F0 F0:1 B0:1 B0\n");
}

TEST(ScheduleJsonExtras, PairsAndSlicesRoundTrip) {
    Schedule both = sliced();
    both.ranks[1][1].overlapped = true;
    both.ranks[1][2].overlapped = true;
    for (const Schedule& schedule : {paired(), sliced(), both, twoWay("0", "1")}) {
        const std::string text = scheduleToJson(schedule);
        const auto back = scheduleFromJson(text, "text");
        ASSERT_TRUE(back.ok()) << back.error().text();
        EXPECT_EQ(back.value().ranks, schedule.ranks) << text;
        EXPECT_EQ(back.value().placement, schedule.placement);
    }
    EXPECT_NE(scheduleToJson(paired()).find(R"(["F",1,0,"o"],["B",0,0,"o"])"), std::string::npos);
    EXPECT_EQ(scheduleToJson(paired()).find(R"(["F",0,0,0])"), std::string::npos);
    EXPECT_NE(scheduleToJson(sliced()).find(R"(["F",0,0,0],["F",0,0,1],["B",0,0,1])"), std::string::npos);
}

TEST(ScheduleJsonExtras, DamagedMarksAndSlicesAreRefused) {
    for (const char* entry : {R"(["F",0,0,"p"])", R"(["F",0,0,-1])", R"(["F",0,0,4096])", R"(["F",0,0,1.5])",
                              R"(["F",0,0,null])", R"(["F",0,0,["o"]])"}) {
        EXPECT_FALSE(scheduleFromJson(std::string(R"({"ranks":[[)") + entry + "]]}", "x.json").ok()) << entry;
    }
    // Each size alone is small; their product would be a table of many gigabytes.
    EXPECT_FALSE(scheduleFromJson(R"({"ranks":[[["F",0,0,4000]]],"microbatches":900000})", "x.json").ok());
}

/// A model on two ranks down, and on each rank a copy of a model of one stage: micro-batch 0 down, 1 and 2 on copies.
Schedule withCopies() {
    return custom(3, 2, Placement::Bidirectional,
                  {{op("F0.0"), op("F2.1"), op("B2.1"), op("B0.0")}, {op("F1.1"), op("B1.1"), op("F0.0"), op("B0.0")}});
}

TEST(Copies, OfASecondModelAreWaysOfTheirOwn) {
    const Schedule schedule = withCopies();
    const StageWays ways = StageWays::of(schedule);
    EXPECT_EQ(ways.copies(), 2);
    ASSERT_EQ(ways.all().size(), 3U);
    EXPECT_EQ(ways.all()[0].count, 2);
    EXPECT_EQ(ways.all()[1].count, 1);
    EXPECT_EQ(ways.before(Stage{2}), Stage{0});
    EXPECT_EQ(ways.after(Stage{0}), Stage{2});
    for (const Stage stage : {Stage{1}, Stage{3}}) {
        EXPECT_EQ(ways.before(stage), std::nullopt);
        EXPECT_EQ(ways.after(stage), std::nullopt);
    }
    EXPECT_TRUE(validate(schedule).empty());
    const StepTimeline step = simulate(schedule, pairCosts(2, 3)).value();
    EXPECT_EQ(step.ranks[1][0].start, TimeNs{0}) << "the copy waits for nobody";
    EXPECT_EQ(step.ranks[0][1].start, TimeNs{2});
    EXPECT_EQ(step.wall(), TimeNs{13});
    // The forward of a copy's only stage feeds its own backward, not the next stage.
    const auto consumer = consumerOf(step, OpPlace{Rank{1}, 0});
    ASSERT_TRUE(consumer);
    EXPECT_EQ(consumer->in(step).op, op("B1.1"));
    EXPECT_EQ(producerOf(step, *consumer)->index, 0U);
}

TEST(Copies, NeedAllOpsOfTheirOwnWay) {
    Schedule schedule = withCopies();
    std::erase_if(schedule.ranks[0], [](const Op& each) { return each == op("B2.1"); });
    const auto problems = only(schedule, "missing");
    EXPECT_EQ(problems.size(), 1U);
}

TEST(Copies, AreNoExcuseForAPipelineThatLacksARank) {
    // One micro-batch up that rank 0 never sees: no part of the ranks is a copy, for nothing passes the other.
    Schedule schedule = twoWay("0", "1");
    std::erase_if(schedule.ranks[0], [](const Op& each) { return each.chunk.value == 1; });
    EXPECT_EQ(StageWays::of(schedule).copies(), 1);
    only(schedule, "missing");
}

TEST(Copies, AreNotSeenWhereAMicroBatchPassesBothParts) {
    const Schedule schedule = twoWay("0", "1");
    EXPECT_EQ(StageWays::of(schedule).copies(), 1);
    EXPECT_EQ(StageWays::of(paired()).copies(), 1);
}

} // namespace
} // namespace bubblescope
