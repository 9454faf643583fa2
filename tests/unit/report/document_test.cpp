#include "core/base/csv_cell.h"
#include "core/report/data_table.h"
#include "core/report/document.h"
#include "core/report/html.h"
#include "core/report/json.h"
#include "core/report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>

namespace bubblescope::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Document sample() {
    Document document;
    document.title = "A run";
    document.data("step", 7);
    Section section;
    section.key = "bubbles";
    section.heading = "Bubbles";
    section.note = "of the typical step";
    section.data("total_ns", TimeNs{3'000});
    Table table("ranks", {column("rank", "rank"), column("bubble_ns", "bubble"), data("peer"),
                          shown("difference", Align::Left), column("expected_ns", "closed form")});
    table.most_in_text = 2;
    table.row(Rank{0}, Cell(TimeNs{1'000}).withBar(0.5), absent(), Cell(TimeNs{-20}, Look::Delta),
              orNone(std::optional(TimeNs{1'020})));
    table.row(Rank{1}, TimeNs{2'000}, 3, Cell(0.25, Look::Percent), orNone(std::optional<TimeNs>()));
    table.row(Rank{2}, TimeNs{0}, absent(), "", orNone(std::optional<TimeNs>()));
    section.add(std::move(table));
    document.add(std::move(section));
    return document;
}

TEST(Report, JsonOfManySectionsIsMadeAndWrittenInParts) {
    constexpr std::size_t kCount = 5000;
    const auto section = [](std::size_t index) {
        Section made;
        made.data("index", index);
        made.data("name", "step “" + std::to_string(index) + "”");
        return made;
    };
    Document whole;
    Sections all{.key = "steps", .list = {}};
    for (std::size_t i = 0; i < kCount; ++i)
        all.list.push_back(section(i));
    whole.add(std::move(all));
    whole.data("after", true);

    std::size_t made = 0;
    Document parted;
    parted.add(MadeSections{"steps", kCount, [&](std::size_t i) {
                                EXPECT_EQ(i, made++);
                                return section(i);
                            }});
    parted.data("after", true);
    std::string text;
    std::size_t parts = 0;
    std::size_t made_before_a_part = 0;
    writeJson(parted, [&](std::string_view part) {
        EXPECT_TRUE(parts == 0 || text.ends_with('\n')) << "only the last part may end within a line";
        if (parts++ == 0) made_before_a_part = made;
        text += part;
    });
    EXPECT_EQ(text, toJson(whole));
    EXPECT_GT(parts, 4U);
    EXPECT_LT(made_before_a_part, kCount / 2) << "the first part goes out before all is made";
    made = 0;
    EXPECT_EQ(toJson(parted), toJson(whole));
    EXPECT_THAT(toText(parted), Not(HasSubstr("index")));
    EXPECT_THAT(toHtml(parted), Not(HasSubstr("index")));
}

TEST(Report, OneTableIsTextJsonAndHtml) {
    const Document document = sample();
    EXPECT_EQ(toText(document), "\nBubbles (of the typical step)\n"
                                "  rank   bubble  difference  closed form\n"
                                "     0  1.00 us  -20 ns          1.02 us\n"
                                "     1  2.00 us  25.0 %             none\n"
                                "  … and 1 more (json lists all)\n");
    const auto json = nlohmann::json::parse(toJson(document));
    EXPECT_EQ(json["step"], 7);
    EXPECT_EQ(json["bubbles"]["total_ns"], 3'000);
    ASSERT_EQ(json["bubbles"]["ranks"].size(), 3U) << "programs get all rows";
    EXPECT_EQ(json["bubbles"]["ranks"][0],
              nlohmann::json::parse(R"({"rank": 0, "bubble_ns": 1000, "expected_ns": 1020})"));
    EXPECT_EQ(json["bubbles"]["ranks"][1],
              nlohmann::json::parse(R"({"rank": 1, "bubble_ns": 2000, "peer": 3, "expected_ns": null})"));
    const std::string html = toHtml(document);
    EXPECT_THAT(html, HasSubstr("<h2>Bubbles</h2>"));
    EXPECT_THAT(html, HasSubstr("-20 ns"));
    EXPECT_THAT(html, HasSubstr("var(--bar) 50.0%"));
    EXPECT_THAT(html, Not(HasSubstr("peer")));
}

TEST(Report, ShowsEachReaderItsParts) {
    Document document;
    document.line("for a terminal", Reader::Text);
    document.line("for a page", Reader::Page);
    Section section;
    section.key = "all";
    section.reader = Reader::Programs;
    section.data("value", true);
    document.add(section);
    EXPECT_EQ(toText(document), "for a terminal\n");
    EXPECT_THAT(toHtml(document), Not(HasSubstr("terminal")));
    EXPECT_THAT(toHtml(document), HasSubstr("for a page"));
    EXPECT_EQ(toJson(document, JsonLayout::OneLine), R"({"schema_version":1,"all":{"value":true}})");
}

TEST(Report, ASectionWithNothingToShowHasNoHeading) {
    Document document;
    Section section;
    section.heading = "Findings";
    section.add(Findings{"anomalies", {}});
    document.add(std::move(section));
    EXPECT_EQ(toText(document), "");
    EXPECT_EQ(toJson(document, JsonLayout::OneLine), R"({"schema_version":1,"anomalies":[]})")
        << "programs see that there are none";
}

TEST(Report, SumsUpMatricesThatAreTooWideForATerminal) {
    Matrix matrix;
    matrix.corner = "rank";
    for (int rank = 0; rank < 6; ++rank)
        matrix.columns.push_back(std::to_string(rank));
    const auto ms = [](int count) { return TimeNs{1'000'000 * count}; };
    matrix.rows = {{"forward", {ms(1), ms(2), ms(3), ms(4), ms(5), ms(9)}},
                   {"optimizer", std::vector<TimeNs>(6, ms(1))}};
    Document document;
    document.add(matrix);
    EXPECT_EQ(toText(document), "                mean    least  on         most  on\n"
                                "  forward    4.00 ms  1.00 ms  rank 0  9.00 ms  rank 5\n"
                                "  optimizer  1.00 ms\n");
}

TEST(Report, TimesOfAColumnShareItsUnit) {
    Table table({}, {shown("time")});
    table.row(TimeNs{285'329'000});
    table.row(TimeNs{385'980});
    table.row(TimeNs{-492'303});
    table.row(TimeNs{0});
    table.row(TimeNs{120}); // would be 0.000 ms
    EXPECT_EQ(toText(table), "       time\n"
                             "     285 ms\n"
                             "   0.386 ms\n"
                             "  -0.492 ms\n"
                             "       0 ms\n"
                             "     120 ns\n");
}

TEST(Report, JsonIsWhatTheLibraryWrites) {
    const Value::Object object{{"text", "a \"b\"\\\n\x01 ü"},
                               {"real", 0.1},
                               {"whole", 3.0},
                               {"small", 1e-300},
                               {"none", std::numeric_limits<double>::infinity()},
                               {"list", Value::List{1, Value::List{}, Value::Object{}}},
                               {"absent", Value::Absent{}},
                               {"time", TimeNs{-5}},
                               {"least", std::numeric_limits<std::int64_t>::min()}};
    nlohmann::ordered_json expected;
    expected["text"] = "a \"b\"\\\n\x01 ü";
    expected["real"] = 0.1;
    expected["whole"] = 3.0;
    expected["small"] = 1e-300;
    expected["none"] = std::numeric_limits<double>::infinity();
    expected["list"] = {1, nlohmann::ordered_json::array(), nlohmann::ordered_json::object()};
    expected["time"] = -5;
    expected["least"] = std::numeric_limits<std::int64_t>::min();
    EXPECT_EQ(toJson(Value(object)), expected.dump(2));
    EXPECT_EQ(toJson(Value(object), JsonLayout::OneLine), expected.dump());
}

TEST(Report, BytesThatAreNoTextDoNotBreakJson) {
    EXPECT_EQ(toJson(Value("a\xff")), "\"a\xEF\xBF\xBD\"");
    EXPECT_EQ(toJson(Value("\x7f\xe2\x80\xa8")), "\"\\u007f\\u2028\"") << "what ends a line or is obeyed";
}

TEST(Report, CsvCellsAreNoFormulas) {
    for (const char* const formula : {"=1+1", "+1", "-1", "@SUM(A1)"})
        EXPECT_EQ(csvCell(formula), std::string("'") + formula);
    EXPECT_EQ(csvCell("\r=1"), "\\r=1");
    EXPECT_EQ(csvCell("\t=1"), "\\t=1");
    EXPECT_EQ(csvCell("a = b"), "a = b");
    EXPECT_EQ(csvCell("say \"a, b\""), "\"say \"\"a, b\"\"\"");
    EXPECT_EQ(csvCell("two\nlines"), "two\\nlines") << "a row is a line";
}

TEST(Report, TextIsShortenedByCharacters) {
    EXPECT_EQ(shortened("größer", 6), "größer");
    EXPECT_EQ(shortened("größer", 5), "größ…");
    EXPECT_EQ(shortened("größer", 3), "gr…") << "no character is cut in two";
    EXPECT_EQ(shortened("größer", 1), "…");
}

DataTable mixedTable() {
    DataTable table({{"rank", ColumnType::Int32},
                     {"time_ns", ColumnType::Int64},
                     {"share", ColumnType::Float64},
                     {"first", ColumnType::Bool},
                     {"name", ColumnType::Text}});
    table.row(Rank{0}, TimeNs{-1500}, 0.25, true, "=b");
    table.row(std::optional<Rank>(), TimeNs{7}, std::numeric_limits<double>::infinity(), false, std::string("c"));
    table.row(2, std::nullopt, 1.0, std::optional<bool>(), "=b");
    return table;
}

TEST(Report, TablesBecomeCsv) {
    std::string text;
    writeCsv(mixedTable(), [&text](std::string_view line) { text += line; });
    EXPECT_EQ(text, "rank,time_ns,share,first,name\n0,-1500,0.25,true,'=b\n,7,,false,c\n2,,1,,'=b\n");
}

TEST(Report, TableColumnsKeepTypesAndNulls) {
    const DataTable table = mixedTable();
    ASSERT_EQ(table.rows(), 3U);
    const auto& columns = table.columns();
    EXPECT_EQ(columns[0].int32s(), (std::vector<std::int32_t>{0, 0, 2}));
    EXPECT_EQ(columns[1].int64s(), (std::vector<std::int64_t>{-1500, 7, 0}));
    EXPECT_EQ(columns[4].int32s(), (std::vector<std::int32_t>{0, 1, 0})) << "a text is kept once";
    EXPECT_EQ(columns[4].texts().bytes(), "=bc");
    EXPECT_EQ(columns[4].texts().offsets(), (std::vector<std::int64_t>{0, 2, 3}));
    const auto nulls = [&](std::size_t column) {
        std::string rows;
        for (std::size_t row = 0; row < 3; ++row)
            rows += columns[column].null(row) ? '-' : 'x';
        return rows;
    };
    EXPECT_EQ(nulls(0), "x-x");
    EXPECT_EQ(nulls(1), "xx-");
    EXPECT_EQ(nulls(2), "x-x") << "what JSON has as null";
    EXPECT_EQ(nulls(3), "xx-");
    EXPECT_EQ(nulls(4), "xxx");
    EXPECT_EQ(columns[0].valid().bytes(), std::vector<std::uint8_t>{0b101});
    EXPECT_TRUE(columns[4].valid().bytes().empty());
}

TEST(Report, BitsFillBytesFromTheLowest) {
    Bits bits;
    bits.append(9, true);
    bits.add(false);
    bits.add(true);
    EXPECT_EQ(bits.bytes(), (std::vector<std::uint8_t>{0xff, 0b101}));
    EXPECT_EQ(bits.size(), 11U);
    EXPECT_TRUE(bits.at(10));
    EXPECT_FALSE(bits.at(9));
}

TEST(Report, WrapsAtTheTerminalsWidthCountingCharacters) {
    const std::string word(30, 'x');
    const std::string text = wrapped("ä: ", word + " " + word + " " + word + " " + word);
    EXPECT_EQ(text, "ä: " + word + " " + word + " " + word + "\n   " + word + "\n");
}

} // namespace
} // namespace bubblescope::report
