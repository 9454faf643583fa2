#include "core/query/database.h"
#include "tests/unit/query/random_trace.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>

namespace bubblescope::query {
namespace {

class Queries : public testing::Test {
protected:
    bubblescope::Run run_ = test::randomRun(1, 200);
    Database database_{{run_, nullptr, nullptr}};

    Error errorOf(const std::string& sql) {
        const auto result = database_.run(sql, JobControl());
        EXPECT_FALSE(result.ok()) << sql;
        return result.ok() ? Error() : result.error();
    }
    report::DataTable rowsOf(const std::string& sql) {
        auto result = database_.run(sql, JobControl());
        EXPECT_TRUE(result.ok()) << sql << ": " << (result.ok() ? "" : result.error().text());
        return result.ok() ? std::move(result).value() : report::DataTable({});
    }
};

TEST_F(Queries, NameThePlaceOfAnError) {
    const Error column = errorOf("SELECT name,\n  durr FROM slice");
    EXPECT_EQ(column.kind, ErrorKind::Usage);
    EXPECT_EQ(column.where, "query, line 2, column 3");
    EXPECT_EQ(column.hint, "did you mean 'dur'?");
    EXPECT_EQ(errorOf("SELECT * FROM slices").hint, "did you mean 'slice'?");
    EXPECT_EQ(errorOf("SELECT *\nFROM slices").where, "query, line 2, column 6");
    EXPECT_NE(errorOf("SELECT * FROM zzz").hint.find("the tables are slice, "), std::string::npos);
    EXPECT_EQ(errorOf("SELEC 1").where, "query, line 1, column 1");
    EXPECT_EQ(errorOf("").message, "the query is empty");
    EXPECT_EQ(errorOf("-- nothing").message, "the query is empty");
}

TEST_F(Queries, OnlyRead) {
    for (const char* const sql :
         {"DELETE FROM slice", "INSERT INTO slice(id) VALUES (1)", "UPDATE slice SET dur = 0", "CREATE TABLE t(x)",
          "CREATE TEMP TABLE t(x)", "DROP TABLE slice", "ATTACH ':memory:' AS other", "VACUUM INTO '/tmp/x'",
          "PRAGMA user_version = 3", "PRAGMA writable_schema = 1", "BEGIN", "SELECT load_extension('x')", "DETACH main",
          "REINDEX", "ANALYZE"}) {
        const Error error = errorOf(sql);
        EXPECT_EQ(error.kind, ErrorKind::Usage) << sql;
        EXPECT_EQ(error.message, "queries must not change the data") << sql;
    }
    EXPECT_EQ(errorOf("SELECT 1; SELECT 2").message, "more than one statement");
    EXPECT_EQ(errorOf("SELECT 1; DROP TABLE slice").message, "more than one statement");
    EXPECT_EQ(rowsOf("SELECT 1; -- that is all\n").rows(), 1U);
    EXPECT_GT(rowsOf("SELECT name FROM pragma_table_info('slice')").rows(), 10U);
}

TEST_F(Queries, StopWhenAsked) {
    constexpr const char* kEndless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
                                     "SELECT count(*) FROM n";
    constexpr const char* kSlow = "SELECT count(*) FROM slice a, slice b, slice c, slice d WHERE a.dur + b.dur + c.dur "
                                  "+ d.dur < 0";
    for (const char* const sql : {kEndless, kSlow}) {
        QueryLimits limits;
        limits.time = std::chrono::milliseconds(20);
        const auto late = database_.run(sql, JobControl(), limits);
        ASSERT_FALSE(late.ok());
        EXPECT_EQ(late.error().kind, ErrorKind::Run);
        EXPECT_EQ(late.error().message, "the query took longer than 20.0 ms");

        std::stop_source stop;
        JobControl control;
        control.stop = stop.get_token();
        int checks = 0;
        control.at_check = [&] {
            if (++checks == 3) stop.request_stop();
        };
        const auto stopped = database_.run(sql, control);
        ASSERT_FALSE(stopped.ok());
        EXPECT_EQ(stopped.error().kind, ErrorKind::Cancelled);
    }
    EXPECT_EQ(rowsOf("SELECT 1").rows(), 1U) << "the next query runs";
}

TEST_F(Queries, LimitTheResult) {
    QueryLimits limits;
    limits.result_bytes = std::size_t{1} << 20U;
    const auto large = database_.run("SELECT a.args FROM slice a, slice b, slice c", JobControl(), limits);
    ASSERT_FALSE(large.ok());
    EXPECT_EQ(large.error().kind, ErrorKind::Run);
    EXPECT_EQ(large.error().message, "the result is larger than 1 MiB");
}

TEST_F(Queries, GiveColumnsTheTypesOfTheirValues) {
    const report::DataTable rows = rowsOf("SELECT 1 AS a, 2.5 AS b, 'x' AS c, NULL AS d, x'0aff' AS e, 3 AS a "
                                          "UNION ALL SELECT 2.25, 1, 4, 7, NULL, 'y'");
    using report::ColumnType;
    std::vector<std::pair<std::string, ColumnType>> columns;
    for (const report::DataColumn& column : rows.columns())
        columns.emplace_back(column.name(), column.type());
    EXPECT_EQ(columns, (std::vector<std::pair<std::string, ColumnType>>{{"a", ColumnType::Float64},
                                                                        {"b", ColumnType::Float64},
                                                                        {"c", ColumnType::Text},
                                                                        {"d", ColumnType::Int64},
                                                                        {"e", ColumnType::Text},
                                                                        {"a_2", ColumnType::Text}}));
    EXPECT_EQ(rows.columns()[0].float64s(), (std::vector<double>{1, 2.25}));
    EXPECT_EQ(rows.columns()[2].texts().text(1), "4");
    EXPECT_TRUE(rows.columns()[3].null(0));
    EXPECT_EQ(rows.columns()[4].texts().text(0), "0aff");
    EXPECT_TRUE(rows.columns()[4].null(1));
}

TEST_F(Queries, HavePercentilesThatInterpolate) {
    const report::DataTable rows = rowsOf(
        "WITH v(x) AS (VALUES (10), (NULL), (40), (20), (30)) SELECT percentile(x, 0) AS low, percentile(x, 50) AS "
        "mid, percentile(x, 90) AS p90, percentile(x, 100) AS high, median(x) AS m, median(NULL) AS none FROM v");
    const auto value = [&](std::size_t column) { return rows.columns()[column].float64s()[0]; };
    EXPECT_DOUBLE_EQ(value(0), 10);
    EXPECT_DOUBLE_EQ(value(1), 25);
    EXPECT_DOUBLE_EQ(value(2), 37); // 30 + 0.7 · 10
    EXPECT_DOUBLE_EQ(value(3), 40);
    EXPECT_DOUBLE_EQ(value(4), 25);
    EXPECT_TRUE(rows.columns()[5].null(0));
    EXPECT_EQ(errorOf("SELECT percentile(1, 101)").message, "percentile() takes a percentage from 0 to 100");
}

TEST_F(Queries, TellWhichTablesTheyRead) {
    const auto tables = tablesRead("SELECT * FROM slice s JOIN bubble b ON s.ts = b.ts");
    ASSERT_TRUE(tables.ok());
    EXPECT_EQ(tables.value(), (std::set<std::string>{"slice", "bubble"}));
    EXPECT_TRUE(needsAnalysis("bubble"));
    EXPECT_FALSE(needsAnalysis("slice"));
}

TEST_F(Queries, LeaveTablesOfAPipelineEmptyWithoutOne) {
    for (const char* const table : {"op", "transfer", "bubble", "accounting", "finding"})
        EXPECT_EQ(rowsOf(std::string("SELECT * FROM ") + table).rows(), 0U) << table;
    EXPECT_EQ(rowsOf("SELECT * FROM file").rows(), 2U);
}

} // namespace
} // namespace bubblescope::query
