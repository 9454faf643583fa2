#include "core/formats/sniff.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/sqlite_file.h"
#include "tests/unit/formats/trace_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace bubblescope {
namespace {

using test::countOf;
using testing::HasSubstr;

std::string trackOf(const Trace& trace, std::string_view name) {
    const SliceId slice = test::findSlice(trace, name);
    return slice == kNoId ? "none" : std::string(trace.text(trace.tracks()[trace.sliceTracks()[slice]].thread_name));
}

// rocprofv3's layout: each table's name ends with the run's id.
TEST(Rocpd, HoldsKernelsCopiesAndCalls) {
    const test::ScratchFolder folder;
    const auto read = test::readBytes(folder, test::databaseOf(folder, R"sql(
        CREATE TABLE rocpd_string_00ab (id INTEGER, guid TEXT, string TEXT);
        INSERT INTO rocpd_string_00ab VALUES (1, 'g', 'hipMemcpyAsync'), (2, 'g', 'MEMORY_COPY_HOST_TO_DEVICE');
        CREATE TABLE rocpd_info_kernel_symbol_00ab (id INTEGER, kernel_name TEXT, display_name TEXT);
        INSERT INTO rocpd_info_kernel_symbol_00ab VALUES (8, 'gemm.kd', 'gemm'), (9, 'ncclDevKernel_Generic', '');
        CREATE TABLE rocpd_kernel_dispatch_00ab (id INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER,
            kernel_id INTEGER, queue_id INTEGER, start INTEGER, end INTEGER);
        INSERT INTO rocpd_kernel_dispatch_00ab VALUES (1, 7, 7, 4, 8, 1, 1000, 3000), (2, 7, 7, 5, 9, 1, 2000, 6000),
            (3, 7, 7, 4, 8, 1, 9000, 8000);
        CREATE TABLE rocpd_memory_copy_00ab (id INTEGER, pid INTEGER, dst_agent_id INTEGER, name_id INTEGER,
            start INTEGER, end INTEGER);
        INSERT INTO rocpd_memory_copy_00ab VALUES (1, 7, 4, 2, 500, 700);
        CREATE TABLE rocpd_region_00ab (id INTEGER, pid INTEGER, tid INTEGER, name_id INTEGER, start INTEGER, end INTEGER);
        INSERT INTO rocpd_region_00ab VALUES (1, 7, 8, 1, 400, 450);
        CREATE VIEW kernels AS SELECT * FROM rocpd_kernel_dispatch_00ab;
    )sql"));
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = *read.value().trace;
    EXPECT_EQ(trace.files()[0].format, "rocpd");
    EXPECT_EQ(trace.sliceCount(), 4U);
    EXPECT_EQ(trackOf(trace, "gemm"), "AGENT [4] QUEUE [1] (GPU)");
    EXPECT_EQ(trackOf(trace, "ncclDevKernel_Generic"), "AGENT [5] QUEUE [1] (GPU)");
    EXPECT_EQ(trace.laneOf(test::findSlice(trace, "MEMORY_COPY_HOST_TO_DEVICE"), 0), LaneKind::Copy);
    EXPECT_EQ(countOf(read.value().problems, "bad-time"), 1); // ends before it starts
}

// RPD's layout, with the calls that launched operations.
TEST(Rocpd, OfRpdTiesCallsToOperations) {
    const test::ScratchFolder folder;
    const auto read = test::readBytes(folder, test::databaseOf(folder, R"sql(
        CREATE TABLE rocpd_string (id INTEGER, string TEXT);
        INSERT INTO rocpd_string VALUES (1, 'hipLaunchKernel'), (2, 'KernelExecution'), (3, 'gemm'), (4, 'CopyHostToDevice');
        CREATE TABLE rocpd_op (id INTEGER, gpuId INTEGER, queueId INTEGER, start INTEGER, end INTEGER,
            description_id INTEGER, opType_id INTEGER);
        INSERT INTO rocpd_op VALUES (10, 0, 2, 2000, 3000, 3, 2), (11, 0, 2, 4000, 4500, 0, 4);
        CREATE TABLE rocpd_api (id INTEGER, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, apiName_id INTEGER);
        INSERT INTO rocpd_api VALUES (20, 7, 7, 1000, 1100, 1);
        CREATE TABLE rocpd_api_ops (id INTEGER, api_id INTEGER, op_id INTEGER);
        INSERT INTO rocpd_api_ops VALUES (1, 20, 10);
    )sql"));
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = *read.value().trace;
    EXPECT_EQ(trace.sliceCount(), 3U);
    const auto launchOf = [&](std::string_view name) {
        return trace.intArg(trace.sliceArgs()[test::findSlice(trace, name)], "corr_id");
    };
    EXPECT_EQ(launchOf("gemm"), 20);
    EXPECT_EQ(launchOf("hipLaunchKernel"), 20);
    EXPECT_EQ(launchOf("CopyHostToDevice"), std::nullopt);
}

TEST(Rocpd, WithoutEventsSaysWhatToRecord) {
    const test::ScratchFolder folder;
    const auto read =
        test::readBytes(folder, test::databaseOf(folder, "CREATE TABLE rocpd_string (id INTEGER, string TEXT);"));
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().text(), HasSubstr("rocpd"));
    EXPECT_THAT(read.error().hint, HasSubstr("rocprofv3"));
}

TEST(RocprofJson, HoldsKernelsCopiesAndCalls) {
    const test::ScratchFolder folder;
    const auto read = test::readBytes(folder, R"json({"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 908},
        "agents": [{"id": {"handle": 18446744073709551615}, "node_id": 4}],
        "kernel_symbols": [{"kernel_id": 8, "kernel_name": "gemm.kd", "formatted_kernel_name": "gemm"}],
        "strings": {"buffer_records": [{"kind": "NONE", "operations": []}, {"kind": "HIP", "operations": ["hipInit", "hipLaunchKernel"]}]},
        "buffer_records": {
            "kernel_dispatch": [{"start_timestamp": 3000, "end_timestamp": 5000, "correlation_id": {"internal": 6},
                "dispatch_info": {"agent_id": {"handle": 18446744073709551615}, "queue_id": {"handle": 1}, "kernel_id": 8}},
                {"start_timestamp": 3000}],
            "hip_api": [{"kind": 1, "operation": 1, "thread_id": 908, "start_timestamp": 1000, "end_timestamp": 1500,
                "correlation_id": {"internal": 6}}]}}]})json");
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = *read.value().trace;
    EXPECT_EQ(trace.files()[0].format, "rocprofv3");
    EXPECT_EQ(trace.sliceCount(), 2U);
    EXPECT_EQ(trackOf(trace, "gemm"), "AGENT [4] QUEUE [1] (GPU)");
    EXPECT_EQ(trace.intArg(trace.sliceArgs()[test::findSlice(trace, "hipLaunchKernel")], "corr_id"), 6);
    EXPECT_EQ(countOf(read.value().problems, "bad-time"), 1);
}

TEST(RocprofJson, ThatIsCutOffIsAnError) {
    const test::ScratchFolder folder;
    const auto read = test::readBytes(folder, R"({"rocprofiler-sdk-tool": [{"metadata": {"pid": 9)");
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().hint, HasSubstr("pftrace"));
}

TEST(XPlane, IsNamedWithTheWayOut) {
    const test::ScratchFolder folder;
    for (const std::string& bytes : {std::string("\x0a\x20\x12\x09/host:CPU\x22\x05", 15) + std::string(40, 'x'),
                                     std::string("\x0a\x20\x08\x01\x12\x0d/device:TPU:0", 20) + std::string(40, 'x')}) {
        EXPECT_EQ(sniffFormat(bytes), FileFormat::XPlane);
        const auto read = test::readBytes(folder, bytes);
        ASSERT_FALSE(read.ok());
        EXPECT_THAT(read.error().text(), HasSubstr("XPlane"));
        EXPECT_THAT(read.error().hint, HasSubstr("trace.json.gz"));
    }
}

} // namespace
} // namespace bubblescope
