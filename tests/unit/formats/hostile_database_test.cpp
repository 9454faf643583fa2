// SQLite files made to do harm, read in a separate process.

#include "tests/support/child_process.h"
#include "tests/unit/formats/trace_bytes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

namespace bubblescope {
namespace {

using testing::HasSubstr;

constexpr std::size_t kPage = 512;
constexpr std::size_t kMegabyte = std::size_t{1} << 20;
constexpr const char* kRanges = "CREATE TABLE NVTX_EVENTS (start, end, eventType, globalTid, text, textId);"
                                "INSERT INTO NVTX_EVENTS VALUES (1000, 1300, 59, 83886089, 'F0', NULL);";

class HostileDatabase : public testing::Test {
protected:
    std::string made(const std::string& sql) {
        const auto path = folder_.path() / "made.sqlite";
        std::filesystem::remove(path);
        sqlite3* connection = nullptr;
        EXPECT_EQ(sqlite3_open(path.string().c_str(), &connection), SQLITE_OK);
        const std::string all = fmt::format("PRAGMA page_size = {}; {}", kPage, sql);
        EXPECT_EQ(sqlite3_exec(connection, all.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
            << sqlite3_errmsg(connection);
        sqlite3_close(connection);
        return test::readAll(path);
    }
    std::string read(std::string_view bytes) {
        const auto file = folder_.write("trace", bytes);
        const test::ChildResult result = test::inChild([&file]() -> std::string {
            JobControl control;
            const auto read = readTraces({file}, control);
            if (!read.ok()) return "error: " + read.error().text();
            std::string text = fmt::format("slices={} ", read.value().trace->sliceCount());
            for (const Diagnostic& problem : read.value().problems)
                text += fmt::format("{}={} ", problem.kind, problem.count);
            return text;
        });
        EXPECT_EQ(result.exit_code, 0) << "signal " << result.signal;
        if (!test::kSanitized) {
            EXPECT_LT(result.peak_bytes, 256 * kMegabyte);
        }
        return result.said;
    }
    test::ScratchFolder folder_;
};

TEST_F(HostileDatabase, ValuesOfOtherTypesAreRead) {
    const std::string said = read(made(fmt::format(
        "{} INSERT INTO NVTX_EVENTS VALUES ('2000', 3000.5, '59', '83886089', x'ff00fe', NULL),"
        "(x'00', x'01', 59, 1e300, 7, 'x'), (NULL, NULL, NULL, NULL, NULL, NULL), ('words', 5, 59, 1, 'F1', NULL),"
        "(-9223372036854775808, 9223372036854775807, 59, 1, 'far', NULL), (9e99, 5, 60, 1, 'far', NULL);",
        kRanges)));
    EXPECT_THAT(said, HasSubstr("slices=4 unmatched-begin=1 ")); // an end of 0 is none
    EXPECT_THAT(said, HasSubstr("bad-time=2 "));
}

// A file's views, triggers and computed columns are programs: none of them is run.
TEST_F(HostileDatabase, ItsProgramsAreNotRun) {
    EXPECT_THAT(read(made(fmt::format(
                    "{} CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i "
                    "+ 1 FROM n)"
                    " SELECT i AS start, i + 1 AS end FROM n;"
                    "CREATE TRIGGER t AFTER INSERT ON NVTX_EVENTS BEGIN DELETE FROM NVTX_EVENTS; END;"
                    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, "
                    "  copyKind AS (1), bytes AS (5));"
                    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2);",
                    kRanges))),
                HasSubstr("slices=2 not-a-table=1 "));
}

// Views that name another one twice each: to resolve the last one would be 2^60 steps.
TEST_F(HostileDatabase, ViewsAreNotEvenResolved) {
    std::string sql = fmt::format("{} CREATE VIEW v0 AS SELECT 1 AS x FROM NVTX_EVENTS;", kRanges);
    for (int i = 1; i <= 60; ++i)
        sql += fmt::format("CREATE VIEW v{0} AS SELECT 1 AS x FROM v{1} a, v{1} b;", i, i - 1);
    EXPECT_EQ(read(made(sql)), "slices=1 ");
}

TEST_F(HostileDatabase, ViewsInPlaceOfAllTablesAreAnError) {
    const std::string said = read(made("CREATE TABLE kept (start, end, eventType, globalTid, text, textId);"
                                       "CREATE VIEW NVTX_EVENTS AS SELECT * FROM kept;"));
    EXPECT_THAT(said, HasSubstr("keeps its events in views or virtual tables, which are not supported"));
    EXPECT_THAT(said, HasSubstr("CREATE TABLE"));
}

// Virtual tables are code of modules; a computed value must not be larger than the file.
TEST_F(HostileDatabase, ItsModulesAndGiantValuesAreNotUsed) {
    EXPECT_THAT(read(made(fmt::format("{} CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_KERNEL USING rtree(start, end, x);"
                                      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 3);",
                                      kRanges))),
                HasSubstr("slices=1 not-a-table=1 "));
    EXPECT_THAT(read(made(fmt::format("{} ALTER TABLE NVTX_EVENTS ADD COLUMN deviceId AS (1);"
                                      "CREATE TABLE StringIds (id INTEGER, value TEXT AS (hex(zeroblob(300000000))));"
                                      "INSERT INTO StringIds VALUES (1);",
                                      kRanges))),
                HasSubstr("slices=1 "));
}

void putNumber(std::string& page, std::size_t at, std::size_t bytes, std::uint32_t value) {
    for (std::size_t i = 0; i < bytes; ++i)
        page[at + i] = static_cast<char>(value >> (8 * (bytes - 1 - i)));
}

/// An inner page of a table whose children are all the same one (file format, section 1.6).
std::string innerPage(std::uint32_t child) {
    constexpr std::size_t kCells = 60;
    constexpr std::size_t kHeader = 12;
    std::string page(kPage, '\0');
    page[0] = 5;
    putNumber(page, 3, 2, kCells);
    putNumber(page, 8, 4, child);
    std::size_t at = kPage;
    for (std::size_t cell = 0; cell < kCells; ++cell) {
        at -= 5; // the child's number and a row id
        putNumber(page, at, 4, child);
        page[at + 4] = static_cast<char>(cell + 1);
        putNumber(page, kHeader + 2 * cell, 2, static_cast<std::uint32_t>(at));
    }
    putNumber(page, 5, 2, static_cast<std::uint32_t>(at));
    return page;
}

// Ten pages, each of which has the next one 61 times: 61^10 rows in a few kilobytes.
TEST_F(HostileDatabase, PagesThatAreTheirOwnNeighboursEnd) {
    std::string rows;
    for (int i = 0; i < 400; ++i)
        rows += fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, 83886089, 'F{}', NULL);", i, i + 1, i);
    std::string bytes = made(kRanges + rows);
    const std::size_t pages = bytes.size() / kPage;
    ASSERT_GT(pages, 14U);
    std::uint32_t root = 0; // the table's: the one inner page
    for (std::uint32_t page = 2; page <= pages; ++page) {
        if (bytes[(page - 1) * kPage] == 5) root = page;
    }
    ASSERT_NE(root, 0U);
    std::vector<std::uint32_t> chain{root};
    for (std::uint32_t page = 2; chain.size() <= 10; ++page) {
        if (bytes[(page - 1) * kPage] == 13) chain.push_back(page); // a leaf; the last of the chain stays one
    }
    for (std::size_t i = 0; i + 1 < chain.size(); ++i)
        bytes.replace((chain[i] - 1) * kPage, kPage, innerPage(chain[i + 1]));
    const std::string said = read(bytes);
    EXPECT_THAT(said, HasSubstr("corrupt=1"));
}

TEST_F(HostileDatabase, AnyCutAndAnyDamageIsToldOrHarmless) {
    std::string rows;
    for (int i = 0; i < 40; ++i)
        rows += fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, 83886089, 'F{}', NULL);", i, i + 1, i);
    const std::string whole = made(kRanges + rows);
    const auto check = [&](std::string_view bytes) {
        const auto result = test::readBytes(folder_, bytes);
        if (result.ok()) return;
        EXPECT_EQ(result.error().kind, ErrorKind::Input);
        EXPECT_FALSE(result.error().message.empty());
    };
    for (std::size_t size = 16; size < whole.size(); size += 101)
        check(std::string_view(whole).substr(0, size));
    for (std::size_t at = 16; at < whole.size(); at += 13) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ (at % 2 == 0 ? 0xff : 0x05));
        check(damaged);
    }
}

} // namespace
} // namespace bubblescope
