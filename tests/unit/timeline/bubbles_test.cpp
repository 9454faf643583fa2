#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/theory/analysis.h"
#include "core/timeline/bubbles.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

CostModel costs(int forward, int backward) {
    CostModel model;
    model.times = makeOpTimes(TimeNs{forward}, TimeNs{backward}, {}, {}).value();
    return model;
}

/// Ops by their letters, a pair in brackets.
std::vector<Op> ops(std::string_view letters) {
    std::vector<Op> list;
    bool pair = false;
    for (const char letter : letters) {
        if (letter == '[' || letter == ']') {
            pair = letter == '[';
            continue;
        }
        list.push_back({*opKindFromLetter(letter), Microbatch{}, Chunk{}, 0, pair});
    }
    return list;
}

TEST(Phases, SplitWhereForwardsAndBackwardsMeet) {
    const auto check = [](std::string_view letters, std::size_t steady, std::size_t cooldown, std::size_t end) {
        const Phases phases = findPhases(ops(letters));
        EXPECT_EQ(phases.steady, steady) << letters;
        EXPECT_EQ(phases.cooldown, cooldown) << letters;
        EXPECT_EQ(phases.end, end) << letters;
    };
    check("FFFBFBFBBB", 2, 8, 10);
    check("FFFBBB", 3, 3, 6);
    check("FBFB", 0, 4, 4);
    check("FBFBO", 0, 4, 4);
    check("FFIFIWWW", 1, 5, 8);
    check("FFF", 3, 3, 3);
    check("", 0, 0, 0);
    check("BFB", 0, 3, 3);
    check("FF[FB][FB]BB", 2, 6, 8);
    check("FF[FB]BB", 2, 4, 6);
}

TEST(Bubbles, OneFOneBAsExecutedHasSingleGapsInCoolDown) {
    // Rank 0 of p = 4: 3·t_b before its first backward, then three gaps of t_f between cool-down backwards.
    const auto step = simulate(makeSchedule({"1f1b", "", 4, 8, 1}).value(), costs(5, 10)).value();
    const auto bubbles = findBubbles(step)[0];
    ASSERT_EQ(bubbles.size(), 4U);
    EXPECT_EQ(bubbles[0].position, Position::WarmupToSteady);
    EXPECT_EQ(bubbles[0].duration().count(), 30);
    EXPECT_EQ(bubbles[1].position, Position::SteadyToCooldown);
    EXPECT_EQ(bubbles[2].position, Position::InsideCooldown);
    for (std::size_t i = 1; i < 4; ++i)
        EXPECT_EQ(bubbles[i].duration().count(), 5);
}

TEST(Bubbles, OverlappingOpsAndOptimizerAreCountedOnce) {
    StepTimeline step;
    step.pp = 1;
    step.microbatches = 2;
    const auto op = [](OpKind kind, int mb, int start, int end) {
        return TimelineOp{{kind, Microbatch{mb}, Chunk{0}}, TimeNs{start}, TimeNs{end}};
    };
    step.ranks = {{op(OpKind::Forward, 0, 10, 30), op(OpKind::Forward, 1, 20, 40), op(OpKind::Backward, 0, 50, 60),
                   op(OpKind::Backward, 1, 60, 80), op(OpKind::Optimizer, 0, 80, 95)}};
    step.comm.resize(1);
    step.fitWindow();
    EXPECT_EQ(step.begin.count(), 10);
    EXPECT_EQ(step.end.count(), 80);
    const auto bubbles = findBubbles(step)[0];
    ASSERT_EQ(bubbles.size(), 1U);
    EXPECT_EQ(bubbles[0].duration().count(), 10);
    EXPECT_EQ(bubbles[0].position, Position::ForwardToBackward);
    EXPECT_DOUBLE_EQ(bubbleRates(step).over_makespan, 10.0 / 70);
}

TEST(Rates, ThreeMeaningsOnOneFOneB) {
    const auto step = simulate(makeSchedule({"1f1b", "", 4, 8, 1}).value(), costs(5, 10)).value();
    const BubbleRates rates = bubbleRates(step);
    EXPECT_DOUBLE_EQ(rates.over_makespan, 45.0 / 165);
    EXPECT_DOUBLE_EQ(rates.span, 45.0 / 165) << "rank 0 runs from begin to end";
    EXPECT_DOUBLE_EQ(rates.over_ideal, 45.0 / 120);
}

TEST(Analysis, SetsObservedBesideClosedForm) {
    const Schedule schedule = makeSchedule({"interleaved", "", 4, 8, 2}).value();
    const auto step = simulate(schedule, costs(3, 4)).value();
    const StepAnalysis analysis = analyzeStep(step, schedule);
    ASSERT_TRUE(analysis.form.has_value());
    EXPECT_EQ(analysis.typical.forward.count(), 3);
    EXPECT_EQ(analysis.typical.backward.count(), 4);
    for (const RankAccount& account : analysis.ranks) {
        EXPECT_EQ(account.busy + account.bubble, analysis.wall);
        EXPECT_EQ(account.bubble, *account.expected_bubble);
        EXPECT_EQ(account.observed, account.expected);
    }
}

TEST(Analysis, ComparesABubbleWithItsForm) {
    using Kind = FormComparison::Kind;
    const Schedule schedule = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    const auto step = simulate(schedule, costs(5, 10)).value();
    const StepAnalysis analysis = analyzeStep(step, schedule);
    const auto kind = [&](std::size_t bubble) { return compareWithForm(analysis, analysis.bubbles[0][bubble]).kind; };
    // Rank 0's first bubble is what the form counts. The gaps after its steady part are pieces of one position that
    // consolidation joins.
    EXPECT_EQ(kind(0), Kind::Comparable);
    EXPECT_EQ(kind(1), Kind::Moved);
    EXPECT_EQ(kind(2), Kind::NotInForm);
    const FormComparison first = compareWithForm(analysis, analysis.bubbles[0][0]);
    EXPECT_EQ(first.expected, analysis.bubbles[0][0].duration());
    EXPECT_EQ(first.form, findForm(analysis, Rank{0}, analysis.bubbles[0][0].position));
    Schedule custom = schedule;
    custom.name = "custom";
    const StepAnalysis formless = analyzeStep(step, custom);
    EXPECT_EQ(compareWithForm(formless, formless.bubbles[0][0]).kind, Kind::NoForm);
    EXPECT_EQ(findForm(formless, Rank{0}, Position::BeforeWarmup), nullptr);
}

TEST(Analysis, SaysWhyThereIsNoClosedForm) {
    const Schedule schedule = makeSchedule({"1f1b", "", 2, 2, 1}).value();
    const auto step = simulate(schedule, costs(3, 4)).value();
    Schedule custom = schedule;
    custom.name = "custom";
    const StepAnalysis analysis = analyzeStep(step, custom);
    EXPECT_FALSE(analysis.form.has_value());
    EXPECT_NE(analysis.form_note.find("custom"), std::string::npos);
    EXPECT_FALSE(analysis.ranks[0].expected_bubble.has_value());
}

} // namespace
} // namespace bubblescope
