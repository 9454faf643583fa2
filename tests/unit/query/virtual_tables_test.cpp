#include "core/query/database.h"
#include "tests/unit/query/random_trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

// Tables are read by every condition that they take over from SQLite, and compared with what SQLite makes of all rows.
namespace bubblescope::query {
namespace {

/// All cells, as text.
std::vector<std::vector<std::string>> rowsOf(Database& database, const std::string& sql) {
    const auto result = database.run(sql, JobControl());
    EXPECT_TRUE(result.ok()) << sql << ": " << (result.ok() ? "" : result.error().text());
    std::vector<std::vector<std::string>> rows;
    if (!result.ok()) return rows;
    rows.resize(result.value().rows());
    for (const report::DataColumn& column : result.value().columns()) {
        for (std::size_t row = 0; row < rows.size(); ++row) {
            std::string text = "NULL";
            if (!column.null(row) && column.type() == report::ColumnType::Text)
                text = column.texts().text(static_cast<std::size_t>(column.int32s()[row]));
            else if (!column.null(row) && column.type() == report::ColumnType::Float64)
                text = fmt::format("{}", column.float64s()[row]);
            else if (!column.null(row))
                text = fmt::format("{}", column.int64s()[row]);
            rows[row].push_back(std::move(text));
        }
    }
    return rows;
}

/// A value as SQL writes it.
std::string literal(const Column& column, const std::string& value) {
    if (value == "NULL" || column.affinity != Affinity::Text) return value;
    std::string quoted = "'";
    for (const char letter : value)
        quoted += letter == '\'' ? std::string("''") : std::string(1, letter);
    return quoted + "'";
}

class Tables : public testing::TestWithParam<unsigned> {
protected:
    bubblescope::Run run_ = test::randomRun(GetParam(), 60);
    Database database_{{run_, nullptr, nullptr}};
    std::mt19937 random_{GetParam()};

    int below(std::size_t limit) { return std::uniform_int_distribution<int>(0, static_cast<int>(limit) - 1)(random_); }

    /// `"col" op value` with a value of some row or a near one, and the same condition for the outer SELECT.
    std::pair<std::string, std::string> condition(const Relation& table) {
        const Column& column = table.columns()[static_cast<std::size_t>(below(table.columns().size()))];
        const auto values = rowsOf(database_, fmt::format("SELECT \"{}\" FROM {}", column.name, table.name()));
        std::string value =
            values.empty() ? "5" : literal(column, values[static_cast<std::size_t>(below(values.size()))].front());
        if (column.affinity == Affinity::Integer && value.find_first_not_of("-0123456789") != std::string::npos)
            value = "'" + value + "'"; // of streams with names
        constexpr std::array kOperators{"=", "<", "<=", ">", ">=", "IS", "<>"};
        const std::string rest = fmt::format(
            "{} {}{}", kOperators[static_cast<std::size_t>(below(kOperators.size()))], value,
            column.affinity == Affinity::Integer && value != "NULL" && value.front() != '\'' && below(3) == 0 ? " + 0.5"
                                                                                                              : "");
        return {fmt::format("\"{}\" {}", column.name, rest), fmt::format("+\"{}\" {}", column.name, rest)};
    }
};

TEST_P(Tables, AnswerEveryConditionAsAFullScanDoes) {
    for (const auto& table : database_.tables()) {
        for (int i = 0; i < 40; ++i) {
            std::string pushed;
            std::string scanned;
            for (int part = below(3); part >= 0; --part) {
                const auto [condition, same] = this->condition(*table);
                pushed += (pushed.empty() ? "" : " AND ") + condition;
                scanned += (scanned.empty() ? "" : " AND ") + same;
            }
            const std::string head = fmt::format("SELECT id FROM {} WHERE ", table->name());
            const bool descending = below(4) == 0;
            const std::string order = descending ? " ORDER BY id DESC" : " ORDER BY id";
            EXPECT_EQ(rowsOf(database_, head + pushed + order), rowsOf(database_, head + scanned + order))
                << head << pushed;
        }
    }
}

TEST_P(Tables, JoinAsFullScansDo) {
    for (const char* const on : {"b.parent = a.id", "b.id = a.parent", "b.correlation = a.correlation AND b.id <> a.id",
                                 "b.track = a.track AND b.ts > a.ts AND b.ts < a.ts_end",
                                 "b.rank = a.rank AND b.name = a.name AND b.ts >= a.ts_end"}) {
        std::string scanned = on;
        for (std::size_t at = 0; (at = scanned.find("b.", at)) != std::string::npos; at += 3)
            scanned.insert(at, "+");
        const std::string head = "SELECT a.id, b.id FROM slice a LEFT JOIN slice b ON ";
        const std::string order = " ORDER BY a.id, b.id";
        EXPECT_EQ(rowsOf(database_, head + on + order), rowsOf(database_, head + scanned + order)) << on;
    }
}

TEST_P(Tables, NestSlicesByTheirTimes) {
    const auto rows = rowsOf(database_, R"(
        SELECT s.id, s.depth, ifnull(s.parent, -1), p.track = s.track, p.ts <= s.ts AND p.ts_end >= s.ts_end,
               p.depth + 1 = s.depth FROM slice s LEFT JOIN slice p ON p.id = s.parent)");
    ASSERT_FALSE(rows.empty());
    for (const auto& row : rows) {
        if (row[2] == "-1")
            EXPECT_EQ(row[1], "0") << row[0];
        else
            EXPECT_EQ((std::vector<std::string>{row[3], row[4], row[5]}), (std::vector<std::string>{"1", "1", "1"}))
                << row[0];
    }
    // Nobody is left out: what has no parent is in no slice of its track.
    EXPECT_EQ(rowsOf(database_, R"(
        SELECT count(*) FROM slice s JOIN slice o ON o.track = s.track AND o.ts <= s.ts AND o.ts_end >= s.ts_end
        AND o.ts_end > s.ts AND o.id < s.id WHERE s.parent IS NULL)"),
              (std::vector<std::vector<std::string>>{{"0"}}));
}

TEST_P(Tables, ShowWhatTheTraceHolds) {
    const Trace& trace = *run_.trace;
    const auto rows = rowsOf(database_, "SELECT id, name, category, ts, dur, track, open FROM slice");
    ASSERT_EQ(rows.size(), trace.sliceCount());
    const auto orNull = [](std::string_view text) { return text.empty() ? "NULL" : std::string(text); };
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        const std::vector<std::string> expected{fmt::format("{}", slice),
                                                orNull(trace.name(slice)),
                                                orNull(trace.category(slice)),
                                                fmt::format("{}", trace.start(slice).count()),
                                                fmt::format("{}", trace.sliceDurations()[slice]),
                                                fmt::format("{}", trace.sliceTracks()[slice]),
                                                trace.isOpen(slice) ? "1" : "0"};
        EXPECT_EQ(rows[slice], expected);
    }
    std::size_t values = 0;
    for (const CounterSeries& series : trace.counters())
        values += series.values.size();
    EXPECT_EQ(rowsOf(database_, "SELECT id FROM counter").size(), values);
    EXPECT_EQ(rowsOf(database_, "SELECT id FROM instant").size(), trace.instants().size());
    EXPECT_EQ(rowsOf(database_, "SELECT id FROM track").size(), trace.tracks().size() + trace.counters().size());
    // Arrows go forward in time, on slices that are there.
    EXPECT_EQ(rowsOf(database_, "SELECT count(*) FROM flow WHERE ts_in < ts_out OR slice_out NOT IN "
                                "(SELECT id FROM slice) OR slice_in NOT IN (SELECT id FROM slice)"),
              (std::vector<std::vector<std::string>>{{"0"}}));
}

INSTANTIATE_TEST_SUITE_P(Random, Tables, testing::Range(1U, 9U));

} // namespace
} // namespace bubblescope::query
