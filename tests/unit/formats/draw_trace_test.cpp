#include "core/report/svg/draw_trace.h"
#include "core/trace/trace_builder.h"
#include "tests/support/xml_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace bubblescope::svg {
namespace {

using test::XmlElement;
using testing::HasSubstr;

/// One thread with an outer slice, 0 to 1000 ns, and `inner` ones in it, each of `length`, one after the other.
std::shared_ptr<const Trace> traceOf(int inner, int length) {
    TraceBuilder builder;
    builder.addFile({"a.json", "chrome", 3});
    const TrackId track = builder.addTrack(7, 9);
    builder.track(track).process_name = builder.intern("train <0>");
    builder.addSlice({track, TimeNs{0}, TimeNs{1000}, builder.intern("outer"), 0, 0});
    for (int i = 0; i < inner; ++i)
        builder.addSlice({track, TimeNs{i * length}, TimeNs{length}, builder.intern("inner"), 0, 0});
    DiagnosticLog log;
    return builder.finish(log);
}

XmlElement parsed(const Trace& trace, const TraceDrawOptions& options = {}) {
    const auto text = drawTrace(trace, options);
    EXPECT_TRUE(text.ok()) << text.error().text();
    auto document = test::XmlReader::read(text.ok() ? text.value() : std::string{});
    EXPECT_TRUE(document.has_value());
    return document.value_or(XmlElement{});
}

/// The rectangles of slices, by the text that they show at the pointer.
std::multimap<std::string, XmlElement> boxesOf(const XmlElement& document) {
    std::multimap<std::string, XmlElement> boxes;
    for (const XmlElement* rect : document.all("rect")) {
        if (!rect->children.empty()) boxes.emplace(rect->children.front().text, *rect);
    }
    return boxes;
}

bool says(const XmlElement& document, std::string_view text) {
    const auto texts = document.all("text");
    return std::any_of(texts.begin(), texts.end(), [text](const XmlElement* one) { return one->text == text; });
}

TEST(DrawTrace, ShowsSlicesToScaleByDepth) {
    const auto boxes = boxesOf(parsed(*traceOf(2, 250)));
    ASSERT_EQ(boxes.size(), 3U);
    const XmlElement& outer = boxes.find("outer, 0 ns to 1 µs")->second;
    const XmlElement& first = boxes.find("inner, 0 ns to 250 ns")->second;
    const XmlElement& second = boxes.find("inner, 250 ns to 500 ns")->second;
    EXPECT_NEAR(first.number("width"), outer.number("width") / 4, 1);
    EXPECT_NEAR(second.number("x") - first.number("x"), outer.number("width") / 4, 1);
    EXPECT_EQ(first.number("x"), outer.number("x"));
    EXPECT_EQ(first.number("y"), second.number("y"));
    EXPECT_GE(first.number("y"), outer.number("y") + outer.number("height"));
    EXPECT_EQ(first.attributes.at("fill"), second.attributes.at("fill"));
}

TEST(DrawTrace, NamesProcessThreadAndRank) {
    const XmlElement document = parsed(*traceOf(0, 0));
    EXPECT_TRUE(says(document, "rank 3: train <0>"));
    EXPECT_TRUE(says(document, "thread 9"));
    EXPECT_TRUE(says(document, "outer"));
}

TEST(DrawTrace, DrawsARangeOnly) {
    const XmlElement document = parsed(*traceOf(10, 100), {TimeNs{250}, TimeNs{450}, 800});
    const auto boxes = boxesOf(document);
    EXPECT_EQ(boxes.size(), 4U) << "the outer slice and those from 200, 300 and 400 ns on";
    const XmlElement& outer = boxes.find("outer, 0 ns to 1 µs")->second;
    for (const auto& [title, box] : boxes) {
        EXPECT_GE(box.number("x"), outer.number("x")) << title;
        EXPECT_LE(box.number("x") + box.number("width"), 800) << title;
    }
    EXPECT_NEAR(boxes.find("inner, 300 ns to 400 ns")->second.number("width"), outer.number("width") / 2, 1);
}

TEST(DrawTrace, GathersSlicesThatAreTooNarrowToBeSeen) {
    const std::string text = drawTrace(*traceOf(100'000, 1), {TimeNs{0}, TimeNs{100'000}, 800}).value();
    EXPECT_LT(text.size(), 400'000U);
    EXPECT_THAT(text, HasSubstr(" more"));
}

TEST(DrawTrace, RefusesWhatCannotBeDrawn) {
    const auto trace = traceOf(0, 0);
    const auto messageOf = [&](const TraceDrawOptions& options) {
        const auto drawn = drawTrace(*trace, options);
        EXPECT_FALSE(drawn.ok());
        return drawn.ok() ? std::string{} : drawn.error().message;
    };
    EXPECT_THAT(messageOf({TimeNs{500}, TimeNs{500}}), HasSubstr("is empty"));
    EXPECT_THAT(messageOf({TimeNs{5000}, TimeNs{6000}}), HasSubstr("no slices between 5 µs and 6 µs"));
    EXPECT_THAT(messageOf({TimeNs{0}, std::nullopt, 120}), HasSubstr("is too small"));
    EXPECT_EQ(drawTrace(*trace, {TimeNs{-1}, TimeNs{5}}).error().kind, ErrorKind::Usage);
}

} // namespace
} // namespace bubblescope::svg
