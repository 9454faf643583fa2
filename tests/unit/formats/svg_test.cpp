#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/report/svg/axis.h"
#include "core/report/svg/document.h"
#include "core/report/svg/draw_timelines.h"
#include "core/report/svg/row_boxes.h"
#include "tests/support/xml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace bubblescope::svg {
namespace {

using test::XmlElement;
using test::XmlReader;

StepTimeline stepOf(ScheduleSpec spec, std::optional<TimeNs> overlapped = {}) {
    CostModel costs;
    costs.times = spec.times;
    costs.overlapped = overlapped;
    return simulate(makeSchedule(spec).value(), costs).value();
}

XmlElement parsed(std::span<const Panel> panels, const DrawOptions& options = {}) {
    const std::string text = drawTimelines(panels, options).value();
    auto document = XmlReader::read(text);
    EXPECT_TRUE(document) << text;
    return document.value_or(XmlElement{});
}

XmlElement parsed(const StepTimeline& step, const DrawOptions& options = {}) {
    const Panel panel{step, "heading", "details"};
    return parsed({&panel, 1}, options);
}

std::multiset<std::string> titlesOf(const XmlElement& document) {
    std::multiset<std::string> titles;
    for (const XmlElement* rect : document.all("rect")) {
        for (const XmlElement& child : rect->children)
            titles.insert(child.text);
    }
    return titles;
}

/// The boxes of ops and bubbles: those that show a name at the pointer.
std::vector<const XmlElement*> namedBoxesOf(const XmlElement& document) {
    auto rects = document.all("rect");
    std::erase_if(rects, [](const XmlElement* rect) { return rect->children.empty(); });
    return rects;
}

TEST(Svg, ShowsEveryOpAndBubbleAtItsTime) {
    const StepTimeline step = stepOf({"zb-v", "", 4, 8, 2});
    const auto titles = titlesOf(parsed(step));
    std::multiset<std::string> expected;
    for (const auto& ops : step.ranks) {
        for (const TimelineOp& op : ops)
            expected.insert(opName(op.op) + ", " + shortTime(op.start) + " to " + shortTime(op.end));
    }
    for (const auto& bubbles : findBubbles(step)) {
        for (const Bubble& bubble : bubbles)
            expected.insert("bubble, " + shortTime(bubble.start) + " to " + shortTime(bubble.end));
    }
    EXPECT_EQ(titles, expected);
}

TEST(Svg, BoxesAreToScaleAndInsideTheDrawing) {
    const StepTimeline step = stepOf({"1f1b", "", 2, 2, 1}); // 9 ms
    const XmlElement document = parsed(step);
    const double width = document.number("width");
    double forward = 0;
    for (const XmlElement* box : namedBoxesOf(document)) {
        EXPECT_GE(box->number("x"), 0);
        EXPECT_LE(box->number("x") + box->number("width"), width);
        EXPECT_LE(box->number("y") + box->number("height"), document.number("height"));
        const std::string& title = box->children.front().text;
        if (title == "F0.0, 0 ns to 1 ms") forward = box->number("width");
        if (title == "B0.0, 2 ms to 4 ms") {
            EXPECT_NEAR(box->number("width"), 2 * forward, 2);
        }
    }
    EXPECT_GT(forward, width / 9 * 0.8);
}

TEST(Svg, LabelsStayInsideTheirBoxes) {
    ScheduleSpec slices{"seq1f1b", "", 4, 12, 1};
    slices.sequence_slices = 3;
    for (const ScheduleSpec& spec :
         {ScheduleSpec{"1f1b", "", 4, 120, 1}, slices, ScheduleSpec{"dualpipe", "", 4, 20, 2}}) {
        const StepTimeline step = stepOf(spec, TimeNs{2'500'000});
        const Shades shades = Shades::of(step);
        for (const double size : {5.0, 8.0, 11.0, 30.0}) {
            const Rect row{50, 10, 700, 24};
            const auto bubbles = findBubbles(step);
            for (const Box& box : rowBoxes({step, Rank{1}, bubbles[1], shades, step.begin, step.end, row, size})) {
                if (box.label.empty()) continue;
                EXPECT_LE(textWidth(box.label, box.label_size), box.rect.width);
                EXPECT_LE(box.label_size, row.height);
            }
        }
    }
}

TEST(Svg, LabelsAreLeftOutWhereOpsAreNarrow) {
    const StepTimeline wide = stepOf({"1f1b", "", 2, 4, 1});
    const StepTimeline narrow = stepOf({"1f1b", "", 2, 400, 1});
    const auto labels = [](const XmlElement& document) {
        return std::ranges::count_if(document.all("text"), [](const XmlElement* text) {
            return std::ranges::all_of(text->text, [](char c) { return c >= '0' && c <= '9'; });
        });
    };
    EXPECT_EQ(labels(parsed(wide)), 16);
    EXPECT_EQ(labels(parsed(narrow)), 0);
}

TEST(Svg, PairsShareTheRow) {
    const StepTimeline step = stepOf({"1f1b-overlap", "", 2, 6, 1}, TimeNs{2'500'000});
    const auto bubbles = findBubbles(step);
    const Rect row{0, 0, 800, 30};
    const auto boxes = rowBoxes({step, Rank{1}, bubbles[1], Shades::of(step), step.begin, step.end, row, 10});
    std::size_t halves = 0;
    for (std::size_t i = 0; i + 1 < boxes.size(); ++i) {
        if (boxes[i].rect.height > 16) continue;
        ++halves;
        EXPECT_TRUE(boxes[i].paint->kind == OpKind::Forward ? boxes[i].rect.y < 1 : boxes[i].rect.y > 14);
        EXPECT_LE(boxes[i].rect.bottom(), row.bottom());
    }
    EXPECT_GE(halves, 9U); // 5 pairs, but for the last of their halves
}

TEST(Svg, ChunksSlicesAndDirectionsDiffer) {
    const StepTimeline step = stepOf({"dualpipe", "", 4, 8, 2});
    const auto bubbles = findBubbles(step);
    for (const Box& box :
         rowBoxes({step, Rank{0}, bubbles[0], Shades::of(step), step.begin, step.end, {0, 0, 900, 30}, 10})) {
        if (box.paint) {
            EXPECT_EQ(box.second_route, box.paint->step == 1);
        }
    }
    EXPECT_EQ(parsed(step).all("path").size(), 1U); // the bars
    EXPECT_TRUE(parsed(stepOf({"interleaved", "", 2, 4, 2})).all("path").empty());
    std::set<std::string> fills;
    for (const OpKind kind : {OpKind::Forward, OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight}) {
        for (int i = 0; i < 4; ++i)
            fills.insert(fillOf({kind, i, 4}));
    }
    EXPECT_EQ(fills.size(), 16U);
}

TEST(Svg, DrawsARangeAndSomeRanks) {
    const StepTimeline step = stepOf({"1f1b", "", 4, 8, 1}); // 33 ms
    DrawOptions options;
    options.ranks = {Rank{3}, Rank{1}};
    options.from = TimeNs{4'500'000};
    options.to = TimeNs{9'000'000};
    const XmlElement document = parsed(step, options);
    std::vector<std::string> names;
    double left = 1e9;
    double right = 0;
    for (const XmlElement* box : namedBoxesOf(document)) {
        names.push_back(box->children.front().text);
        left = std::min(left, box->number("x"));
        right = std::max(right, box->number("x") + box->number("width"));
    }
    // rank 3: B0 4 to 6 (cut), F1, B1 7 to 9; rank 1: bubble 4 to 8 (cut), B0 8 to 10 (cut)
    EXPECT_THAT(names, testing::UnorderedElementsAre("B0.0, 4 ms to 6 ms", "F1.0, 6 ms to 7 ms", "B1.0, 7 ms to 9 ms",
                                                     "bubble, 4 ms to 8 ms", "B0.0, 8 ms to 10 ms"));
    EXPECT_GT(left, 40);
    EXPECT_LT(right, document.number("width"));
    std::vector<std::string> texts;
    for (const XmlElement* text : document.all("text"))
        texts.push_back(text->text);
    EXPECT_THAT(texts, testing::Contains("rank 3"));
    EXPECT_THAT(texts, testing::Not(testing::Contains("rank 0")));
    EXPECT_THAT(texts, testing::Contains("9 ms"));
}

TEST(Svg, StacksStepsOnOneAxis) {
    const StepTimeline slow = stepOf({"interleaved", "unbalanced", 4, 9, 2});
    const StepTimeline fast = stepOf({"interleaved", "balanced", 4, 9, 2});
    const std::vector<Panel> panels{{slow, "slow", "first"}, {fast, "fast", "second"}};
    const XmlElement document = parsed(panels);
    double left = document.number("width");
    double end_of_slow = 0;
    double end_of_fast = 0;
    double below = 0;
    for (const XmlElement* text : document.all("text")) {
        if (text->text == "fast") below = text->number("y");
    }
    for (const XmlElement* box : namedBoxesOf(document)) {
        left = std::min(left, box->number("x"));
        double& end = box->number("y") < below ? end_of_slow : end_of_fast;
        end = std::max(end, box->number("x") + box->number("width"));
    }
    EXPECT_NEAR((end_of_fast - left) / (end_of_slow - left),
                static_cast<double>(fast.wall().count()) / static_cast<double>(slow.wall().count()), 0.002);
}

TEST(Svg, EscapesWhatItIsGiven) {
    const StepTimeline step = stepOf({"1f1b", "", 2, 2, 1});
    const Panel panel{step, "a < b & \"c\" 'd' >", std::string("bell \x07, broken \xC3( and \xF0\x9F\x98\x80")};
    const XmlElement document = parsed({&panel, 1});
    std::vector<std::string> texts;
    for (const XmlElement* text : document.all("text"))
        texts.push_back(text->text);
    EXPECT_THAT(texts, testing::Contains("a < b & \"c\" 'd' >"));
    EXPECT_THAT(texts, testing::Contains("bell \xEF\xBF\xBD, broken \xEF\xBF\xBD( and \xF0\x9F\x98\x80"));
}

TEST(Svg, LargeStepsStaySmall) {
    const StepTimeline step = stepOf({"interleaved", "", 4, 4096, 4});
    const XmlElement document = parsed(step);
    const auto boxes = namedBoxesOf(document);
    EXPECT_LT(boxes.size(), 4U * 2000);
    EXPECT_GT(boxes.size(), 100U);
    std::size_t ops = 0; // none is lost
    for (const XmlElement* box : boxes) {
        const std::string& title = box->children.front().text;
        if (title.find(" op") != std::string::npos) ops += std::stoul(title);
        if (title.find("bubble") != 0 && title.find(',') != std::string::npos) ++ops;
    }
    EXPECT_EQ(ops, 4U * 4096 * 4 * 2);
}

TEST(Svg, RefusesWhatCannotBeDrawn) {
    const StepTimeline step = stepOf({"1f1b", "", 2, 2, 1});
    const Panel panel{step, "", ""};
    const auto message = [&](const DrawOptions& options) {
        const auto result = drawTimelines({&panel, 1}, options);
        return result.ok() ? std::string{} : result.error().message;
    };
    EXPECT_THAT(message({.ranks = {Rank{2}}}), testing::HasSubstr("rank 2 does not exist"));
    EXPECT_THAT(message({.from = TimeNs{5}, .to = TimeNs{5}}), testing::HasSubstr("empty"));
    EXPECT_THAT(message({.from = step.wall()}), testing::HasSubstr("empty"));
    EXPECT_THAT(message({.to = TimeNs::max()}), testing::HasSubstr("between 0 and"));
    EXPECT_THAT(message({.from = TimeNs{-1}}), testing::HasSubstr("between 0 and"));
    EXPECT_EQ(message({.to = TimeNs{1'000'000'000'000'000'000}, .width = 200}), "");
    const StepTimeline nothing;
    const Panel without_ranks{nothing, "", ""};
    EXPECT_FALSE(drawTimelines({&without_ranks, 1}, {.to = TimeNs{1}}).ok());
    EXPECT_THAT(message({.width = 90}), testing::HasSubstr("is too small"));
    EXPECT_EQ(message({}), "");
    EXPECT_FALSE(drawTimelines({}, {}).ok());
}

TEST(SvgAxis, TicksAreRoundAndApart) {
    const auto ticks = makeTicks(TimeNs{0}, TimeNs{33'000'000}, TimeNs{3'100'000});
    std::vector<std::string> labels;
    for (const Tick& tick : ticks) {
        if (!tick.label.empty()) labels.push_back(tick.label);
    }
    EXPECT_THAT(labels, testing::ElementsAre("0 ms", "5 ms", "10 ms", "15 ms", "20 ms", "25 ms", "30 ms"));
    EXPECT_EQ(ticks.size(), 34U);
    EXPECT_EQ(makeTicks(TimeNs{7}, TimeNs{9}, TimeNs{0}).size(), 3U);
}

TEST(SvgAxis, TimesAreShort) {
    EXPECT_EQ(shortTime(TimeNs{0}), "0 ns");
    EXPECT_EQ(shortTime(TimeNs{5'000'000}), "5 ms");
    EXPECT_EQ(shortTime(TimeNs{1'250'000}), "1.25 ms");
    EXPECT_EQ(shortTime(TimeNs{12'345'678}), "12.35 ms");
    EXPECT_EQ(shortTime(TimeNs{820}), "820 ns");
    EXPECT_EQ(shortTime(TimeNs{999'999}), "1 ms");
}

} // namespace
} // namespace bubblescope::svg
