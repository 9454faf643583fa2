#include "core/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bubblescope::html {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t countOf(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

TEST(HtmlPage, NamesFromATraceCannotBecomeMarkup) {
    const std::string evil = "<script>alert('1')</script>\" onload=\"x";
    Page page(evil, evil);
    page.figures({{evil, evil, evil}});
    page.section(evil, evil);
    page.note("warning", evil, evil);
    page.table({{evil}}, {{Cell{evil, 0.5}}});
    page.bars({{evil, {{"part", "#123456", 1, evil}}}});
    page.drawing("<svg></svg>", evil);
    const std::string text = page.finish(evil);
    EXPECT_THAT(text, Not(HasSubstr("<script")));
    EXPECT_THAT(text, Not(HasSubstr("\" onload")));
    EXPECT_THAT(text, HasSubstr("&lt;script&gt;"));
}

TEST(HtmlPage, NeedsNothingFromOutside) {
    Page page("title", "subtitle");
    page.drawing("<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>", "a drawing");
    const std::string text = page.finish("end");
    EXPECT_EQ(countOf(text, "http"), 1U) << "the name space of the drawing";
    EXPECT_EQ(countOf(text, "src="), 0U);
    EXPECT_EQ(countOf(text, "<link"), 0U);
    EXPECT_THAT(text, Not(HasSubstr("<?xml")));
}

TEST(HtmlPage, FoldsLongTables) {
    std::vector<std::vector<Cell>> rows;
    for (int i = 0; i < 25; ++i)
        rows.push_back({Cell{std::to_string(i)}});
    Page page("title", "");
    page.table({{"number"}}, rows, 10);
    const std::string text = page.finish("");
    EXPECT_THAT(text, HasSubstr("<summary>15 more rows</summary>"));
    EXPECT_EQ(countOf(text, "<td"), 25U);
    EXPECT_EQ(countOf(text, "<table>"), countOf(text, "</table>"));
}

TEST(HtmlPage, OneLongBarDoesNotHideTheOthers) {
    const auto bar = [](double value) { return Bar{"step", {{"busy", "#112233", value, "x"}}}; };
    Page page("title", "");
    page.bars({bar(100), bar(10), bar(10), bar(10)});
    const std::string text = page.finish("");
    EXPECT_EQ(countOf(text, "\"bar cut\""), 1U);
    // 1.6 times the median bar is the full width.
    EXPECT_EQ(countOf(text, "width:62.50%"), 3U);

    Page alike("title", "");
    alike.bars({bar(10), bar(12)});
    const std::string equal = alike.finish("");
    EXPECT_EQ(countOf(equal, "\"bar cut\""), 0U);
    EXPECT_EQ(countOf(equal, "width:100.00%"), 1U);
}

} // namespace
} // namespace bubblescope::html
