#include "core/report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bubblescope::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t countOf(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

std::string bars(std::initializer_list<int> times) {
    Document document;
    Bars all;
    for (const int time : times)
        all.list.push_back({"step", {{"busy", "#112233", TimeNs{time}}}});
    document.add(std::move(all));
    return toHtml(document);
}

TEST(Html, NamesFromATraceCannotBecomeMarkup) {
    const std::string evil = "<script>alert('1')</script>\" onload=\"x";
    Document document;
    document.title = document.subtitle = document.foot = evil;
    document.add(Figures{{{evil, evil, evil}}});
    Section section;
    section.heading = section.note = evil;
    section.line(evil, evil);
    section.add(Findings{{}, {{"warning", evil, Sentence(evil), Sentence(evil), Sentence(evil), evil, {}}}});
    Table table({}, {shown(evil)});
    table.row(Cell(evil).withBar(0.5));
    section.add(std::move(table));
    section.add(Matrix{evil, {evil}, {{evil, {TimeNs{1}}}}, {evil, {TimeNs{1}}}, Reader::People});
    section.add(Bars{{{evil, {{evil, "#123456", TimeNs{1}}}}}});
    section.add(Drawing{"<svg></svg>", evil});
    document.add(std::move(section));
    const std::string text = toHtml(document);
    EXPECT_THAT(text, Not(HasSubstr("<script")));
    EXPECT_THAT(text, Not(HasSubstr("\" onload")));
    EXPECT_THAT(text, HasSubstr("&lt;script&gt;"));
}

TEST(Html, NeedsNothingFromOutside) {
    Document document;
    document.add(Drawing{"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>", "a drawing"});
    const std::string text = toHtml(document);
    EXPECT_EQ(countOf(text, "http:"), 1U) << "the name space of the drawing";
    EXPECT_EQ(countOf(text, "https:"), 0U);
    EXPECT_EQ(countOf(text, "src="), 0U);
    EXPECT_EQ(countOf(text, "<link"), 0U);
    EXPECT_THAT(text, Not(HasSubstr("<?xml")));
}

TEST(Html, ATimelineStandsBeforeTheFirstDrawing) {
    Document document;
    document.line("before");
    document.add(Drawing{"<svg></svg>", "a drawing"});
    EXPECT_THAT(toHtml(document), Not(HasSubstr("<script")));
    const std::string evil = "</script><b>";
    ZoomTimeline zoom;
    zoom.kinds.push_back({"forward", "#112233", "#ffffff"});
    zoom.description = zoom.note = evil;
    zoom.steps.push_back(
        {evil, TimeNs{10}, {{evil, {{0, evil, TimeNs{1}, TimeNs{2}}, {0, evil, TimeNs{4}, TimeNs{5}}}}}});
    const std::string text = toHtml(document, &zoom);
    EXPECT_LT(text.find("before"), text.find("class=\"zoom\""));
    EXPECT_LT(text.find("class=\"zoom\""), text.find("class=\"drawing\""));
    EXPECT_EQ(countOf(text, "<script"), 2U) << "the data and what draws it";
    EXPECT_EQ(countOf(text, "</script>"), 2U) << "names do not end the data";
    EXPECT_THAT(text, Not(HasSubstr("<b>")));
    EXPECT_THAT(text, HasSubstr("\"items\":[0,0,1,2,0,0,4,5]"));
    EXPECT_EQ(countOf(text, "src="), 0U);
    EXPECT_THAT(text, HasSubstr("Content-Security-Policy"));
}

TEST(Html, FoldsLongTables) {
    Document document;
    Table table({}, {shown("number")});
    table.most_open = 10;
    for (int i = 0; i < 25; ++i)
        table.row(i);
    document.add(std::move(table));
    const std::string text = toHtml(document);
    EXPECT_THAT(text, HasSubstr("<summary>15 more rows</summary>"));
    EXPECT_EQ(countOf(text, "<td"), 25U);
    EXPECT_EQ(countOf(text, "<table>"), countOf(text, "</table>"));
}

TEST(Html, OneLongBarDoesNotHideTheOthers) {
    const std::string uneven = bars({100, 10, 10, 10});
    EXPECT_EQ(countOf(uneven, "\"bar cut\""), 1U);
    // 1.6 times the median bar is the full width.
    EXPECT_EQ(countOf(uneven, "width:62.50%"), 3U);

    const std::string alike = bars({10, 12});
    EXPECT_EQ(countOf(alike, "\"bar cut\""), 0U);
    EXPECT_EQ(countOf(alike, "width:100.00%"), 1U);
}

TEST(Html, AWideMatrixStandsOnItsSide) {
    Matrix matrix;
    matrix.corner = "rank";
    matrix.rows = {{"busy", {}}};
    for (int rank = 0; rank < 9; ++rank) {
        matrix.columns.push_back(std::to_string(rank));
        matrix.rows.front().times.emplace_back(1'000'000 * (rank + 1));
    }
    Document document;
    document.add(matrix);
    EXPECT_EQ(countOf(toHtml(document), "<tr>"), 10U) << "titles and a row for each rank";
}

} // namespace
} // namespace bubblescope::report
