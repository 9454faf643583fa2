#include "tests/support/sqlite_file.h"
#include "tests/unit/formats/trace_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bubblescope {
namespace {

using test::databaseOf;
using testing::HasSubstr;

// Process 5, thread 9: 5 * 2^24 + 9 = 83886089. An old exporter without shortName, gridX and synchronisation.
constexpr const char* kSmall = R"sql(
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (1, 'gemm<float>'), (2, 'cudaLaunchKernel'), (3, 'worker'), (4, 'B0');
    CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
    INSERT INTO PROCESSES VALUES (83886080, 5, 'python3');
    CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
    INSERT INTO ThreadNames VALUES (3, 0, 83886089);
    CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
    INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630000000000000);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
                                             correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1500, 1900, 1, 7, 42, 83886080, 1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
                                             correlationId INTEGER, globalPid INTEGER, copyKind INTEGER, bytes INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1900, 1950, 1, 7, 43, 83886080, 10, 4096);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
                                              nameId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1100, 1200, 83886089, 42, 2);
    CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER, text TEXT,
                              textId INTEGER);
    INSERT INTO NVTX_EVENTS VALUES (1000, 1300, 59, 83886089, 'F0', NULL), (1300, NULL, 59, 83886089, 'F1', NULL),
                                   (1000, 1400, 60, 83886089, NULL, 4), (1050, NULL, 34, 83886089, 'mark', NULL),
                                   (0, NULL, 75, 83886089, 'a domain', NULL);
)sql";

TEST(NsysReader, ReadsDeviceWorkCallsAndRanges) {
    const test::ScratchFolder folder;
    const auto read = test::readBytes(folder, databaseOf(folder, kSmall));
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = *read.value().trace;
    ASSERT_EQ(trace.sliceCount(), 6U) << "one of them never ended";
    EXPECT_EQ(trace.files()[0].format, "nsys");
    EXPECT_EQ(trace.origin(), TimeNs{1779630000000001000});

    const SliceId kernel = test::findSlice(trace, "gemm<float>");
    ASSERT_NE(kernel, kNoId);
    EXPECT_EQ(trace.start(kernel), TimeNs{500});
    EXPECT_EQ(trace.end(kernel), TimeNs{900});
    EXPECT_EQ(trace.category(kernel), "kernel");
    EXPECT_EQ(trace.intArg(trace.sliceArgs()[kernel], "correlation"), 42);
    const Track& stream = trace.tracks()[trace.sliceTracks()[kernel]];
    EXPECT_EQ(trace.text(stream.process_name), "GPU 1 (process 5)");
    EXPECT_EQ(trace.text(stream.thread_name), "stream 7");
    EXPECT_EQ(stream.pid, 5);

    const SliceId copy = test::findSlice(trace, "Memcpy PtoP");
    ASSERT_NE(copy, kNoId);
    EXPECT_EQ(trace.intArg(trace.sliceArgs()[copy], "bytes"), 4096);
    EXPECT_EQ(trace.args(trace.sliceArgs()[copy]).size(), 2U);

    const SliceId call = test::findSlice(trace, "cudaLaunchKernel");
    ASSERT_NE(call, kNoId);
    const Track& thread = trace.tracks()[trace.sliceTracks()[call]];
    EXPECT_EQ(trace.text(thread.process_name), "python3");
    EXPECT_EQ(trace.text(thread.thread_name), "worker");
    EXPECT_EQ(trace.category(test::findSlice(trace, "F0")), "nvtx");
    EXPECT_NE(test::findSlice(trace, "B0"), kNoId) << "its text is interned";
    EXPECT_EQ(test::countOf(read.value().problems, "unmatched-begin"), 1);
    ASSERT_EQ(trace.instants().size(), 1U);
}

TEST(NsysReader, CountsReservedMemory) {
    const test::ScratchFolder folder;
    const auto read = test::readBytes(folder, databaseOf(folder, (std::string(kSmall) + R"sql(
        CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER,
            contextId INTEGER, address INTEGER, pc INTEGER, bytes INTEGER, memKind INTEGER,
            memoryOperationType INTEGER, name TEXT, correlationId INTEGER, importedMemoryPoolAddress INTEGER);
        INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES
            (1300, 83886080, 1, 1, 4096, 0, 700, 2, 0, NULL, 1, NULL),
            (1100, 83886080, 1, 1, 4096, 0, 500, 2, 0, NULL, 2, NULL),
            (1200, 83886080, 1, 1, 4096, 0, 500, 2, 1, NULL, 3, NULL),
            (1250, 83886080, 1, 1, 8192, 0, 40, 2, 1, NULL, 4, NULL),
            (1260, 83886080, 1, 1, 9000, 0, 10000, 1, 0, NULL, 5, NULL),
            (1270, 83886080, 1, 1, 9100, 0, 20000, 2, 0, NULL, 6, 77),
            (1280, 83886080, 1, 1, 9200, 0, -5, 2, 0, NULL, 7, NULL),
            (1290, 100663296, 0, 1, 4096, 0, 30, 2, 0, NULL, 8, NULL);
    )sql")
                                                                     .c_str()));
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = *read.value().trace;
    ASSERT_EQ(trace.counters().size(), 2U);
    const CounterSeries& own = trace.counters()[0];
    EXPECT_EQ(trace.text(own.name), "reserved memory (device 1)");
    EXPECT_EQ(own.pid, 5);
    EXPECT_THAT(own.times, testing::ElementsAre(TimeNs{100}, TimeNs{200}, TimeNs{300}));
    EXPECT_THAT(own.values, testing::ElementsAre(500, 0, 700));
    const CounterSeries& other = trace.counters()[1];
    EXPECT_EQ(trace.text(other.name), "reserved memory");
    EXPECT_EQ(other.pid, 6);
    EXPECT_EQ(test::countOf(read.value().problems, "unmatched-release"), 1);
    EXPECT_EQ(test::countOf(read.value().problems, "bad-event"), 1);
}

// Large tables are walked in pieces, by rowid.
TEST(NsysReader, ReadsEveryRowOfALargeTableOnce) {
    const test::ScratchFolder folder;
    const std::string bytes = databaseOf(folder, R"sql(
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER, text TEXT);
        INSERT INTO NVTX_EVENTS (rowid, start, end, eventType, globalTid, text)
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
            SELECT i, i * 10, i * 10 + 5, 59, 83886089, 'range ' || i FROM n;
        INSERT INTO NVTX_EVENTS (rowid, start, end, eventType, globalTid, text)
            VALUES (-7, 1, 2, 59, 83886089, 'first'), (30000, 300000, 300005, 59, 83886089, 'last');
        DELETE FROM NVTX_EVENTS WHERE rowid BETWEEN 3000 AND 9000;
    )sql");
    const auto read = test::readBytes(folder, bytes);
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = *read.value().trace;
    std::vector<std::string> expected{"first"};
    for (int i = 1; i <= 20000; ++i) {
        if (i < 3000 || i > 9000) expected.push_back("range " + std::to_string(i));
    }
    expected.emplace_back("last");
    std::vector<std::string> seen;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice)
        seen.emplace_back(trace.name(slice));
    EXPECT_EQ(seen, expected);
}

TEST(NsysReader, TellsOtherDatabasesFromExports) {
    const test::ScratchFolder folder;
    const auto read = test::readBytes(folder, databaseOf(folder, "CREATE TABLE notes (text TEXT)"));
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().message, HasSubstr("without Nsight Systems events"));
}

TEST(NsysReader, SurvivesDamageAndCuts) {
    const test::ScratchFolder folder;
    const std::string whole = databaseOf(folder, kSmall);
    for (std::size_t size = 16; size < whole.size(); size += 509)
        (void)test::readBytes(folder, std::string_view(whole).substr(0, size));
    for (std::size_t at = 16; at < whole.size(); at += 97) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
        (void)test::readBytes(folder, damaged);
    }
}

} // namespace
} // namespace bubblescope
