#include "tests/cli/program.h"
#include "tests/support/shared_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace bubblescope::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

/// A stream with a slice in another one, a thread with one slice, an arrow and two counters. Times begin at 10 µs.
const std::string kTrace = (dataDir() / "traces" / "small_chrome.json").string();

ProgramResult query(std::vector<std::string> words, const std::string& input = {}) {
    words.insert(words.begin(), {"query", kTrace});
    return runProgram(words, input);
}

TEST(QueryCommand, PrintsRowsAsTextCsvAndJson) {
    const std::string sql = "SELECT name, ts, dur, depth, parent FROM slice ORDER BY ts";
    const ProgramResult text = query({sql});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_EQ(text.out, "name      ts     dur  depth  parent\n"
                        "outer      0  100500      0    NULL\n"
                        "inner  10250   10000      1       0\n"
                        "pair   20000    1000      0    NULL\n"
                        "3 rows\n");
    EXPECT_EQ(query({"--csv", sql}).out, "name,ts,dur,depth,parent\n"
                                         "outer,0,100500,0,\n"
                                         "inner,10250,10000,1,0\n"
                                         "pair,20000,1000,0,\n");
    EXPECT_EQ(query({"--json", sql}).json(),
              Json::parse(R"([{"name": "outer", "ts": 0, "dur": 100500, "depth": 0, "parent": null},
                              {"name": "inner", "ts": 10250, "dur": 10000, "depth": 1, "parent": 0},
                              {"name": "pair", "ts": 20000, "dur": 1000, "depth": 0, "parent": null}])"));
}

/// Messages of a length that they state, up to the end mark; numbers and texts as one after the other. That PyArrow
/// reads it is tested in tests/python.
TEST(QueryCommand, WritesAnArrowStream) {
    const ProgramResult result = query({"--arrow", "SELECT name, ts FROM slice ORDER BY ts"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const std::string& out = result.out;
    const auto number = [&out](std::size_t at) {
        std::uint32_t value = 0;
        std::memcpy(&value, out.data() + at, sizeof value);
        return value;
    };
    ASSERT_EQ(out.size() % 8, 0U);
    ASSERT_GT(out.size(), 16U);
    EXPECT_EQ(number(0), 0xFFFFFFFFU);
    const std::size_t batch = 8 + number(4); // the schema has no body
    ASSERT_LT(batch + 8, out.size());
    EXPECT_EQ(number(batch), 0xFFFFFFFFU);
    EXPECT_EQ(number(out.size() - 8), 0xFFFFFFFFU);
    EXPECT_EQ(number(out.size() - 4), 0U);
    const std::string body = out.substr(batch + 8 + number(batch + 4));
    const std::int32_t offsets[] = {0, 5, 10, 14};
    const std::int64_t times[] = {0, 10250, 20000};
    ASSERT_EQ(body.size(), 32 + sizeof times + 8);
    EXPECT_EQ(body.substr(0, sizeof offsets), std::string(reinterpret_cast<const char*>(offsets), sizeof offsets));
    EXPECT_EQ(body.substr(16, 14), "outerinnerpair");
    EXPECT_EQ(body.substr(32, sizeof times), std::string(reinterpret_cast<const char*>(times), sizeof times));
    EXPECT_EQ(query({"--arrow", "--csv", "SELECT 1"}).exit_code, 2);
}

TEST(QueryCommand, ShowsWhatElseATraceHolds) {
    const auto rows = [](const std::string& sql) { return query({"--json", sql}).json(); };
    EXPECT_EQ(
        rows("SELECT process, thread, device, stream, kind, args->>'bytes' AS bytes FROM slice WHERE name = 'outer'"),
        Json::parse(R"([{"process": "trainer", "thread": "compute", "device": "GPU 7", "stream": "compute",
                               "kind": "compute", "bytes": 4096}])"));
    EXPECT_EQ(rows("SELECT name, value, ts FROM counter ORDER BY value"),
              Json::parse(R"([{"name": "memory free", "value": 3.0, "ts": 30000},
                              {"name": "memory used", "value": 12.0, "ts": 30000}])"));
    EXPECT_EQ(rows("SELECT name, ts, scope FROM instant"),
              Json::parse(R"([{"name": "mark", "ts": 25000, "scope": "thread"}])"));
    EXPECT_EQ(rows("SELECT count(*) AS n FROM flow"), Json::parse(R"([{"n": 1}])"));
    EXPECT_EQ(rows("SELECT count(*) AS n FROM op"), Json::parse(R"([{"n": 0}])"));
    EXPECT_EQ(rows("SELECT format, slices FROM file"), Json::parse(R"([{"format": "chrome", "slices": 3}])"));
}

TEST(QueryCommand, ReadsTheQueryFromAFileOrStandardInput) {
    const ScratchFolder folder;
    const std::string file = folder.write("q.sql", "-- how many?\nSELECT count(*) AS n\nFROM slice;\n").string();
    EXPECT_EQ(query({"--csv", "--file", file}).out, "n\n3\n");
    EXPECT_EQ(query({"--csv", "-"}, file).out, "n\n3\n");
}

TEST(QueryCommand, TakesSeveralFilesAsOneRun) {
    const ProgramResult both = runProgram({"query", kTrace, (dataDir() / "traces" / "chrome_flows.json").string(),
                                           "--csv", "SELECT count(DISTINCT file) AS files FROM track"});
    EXPECT_EQ(both.exit_code, 0) << both.err;
    EXPECT_EQ(both.out, "files\n2\n");
}

TEST(QueryCommand, EndsWithTheCodeOfItsError) {
    const ProgramResult wrong = query({"SELECT nme FROM slice"});
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("query, line 1, column 8: no such column: nme"));
    EXPECT_THAT(wrong.err, HasSubstr("did you mean 'name'?"));
    EXPECT_EQ(wrong.out, "");
    EXPECT_EQ(query({"DROP TABLE slice"}).exit_code, 2);
    EXPECT_EQ(query({}).exit_code, 2);
    EXPECT_EQ(runProgram({"query", "missing.json", "SELECT 1"}).exit_code, 3);
    const ProgramResult late = query({"--time-limit", "20ms",
                                      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
                                      "FROM n) SELECT count(*) FROM n"});
    EXPECT_EQ(late.exit_code, 4);
    EXPECT_THAT(late.err, HasSubstr("the query took longer than 20"));
}

TEST(QueryCommand, ListsTables) {
    const ProgramResult tables = runProgram({"query", "--tables", "--json"});
    ASSERT_EQ(tables.exit_code, 0) << tables.err;
    const Json document = tables.json();
    std::vector<std::string> names;
    for (const Json& table : document["tables"])
        names.push_back(table["table"]);
    EXPECT_THAT(names, testing::IsSupersetOf({"slice", "flow", "counter", "device", "step", "op", "transfer", "bubble",
                                              "finding", "track", "file", "problem"}));
}

} // namespace
} // namespace bubblescope::test
