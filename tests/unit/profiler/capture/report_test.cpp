#include "profiler/job/report.h"

#include "profiler/job/left_memory.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

namespace bubblescope::profiler {
namespace {

TEST(ReportCapture, NamesAProcessOfWhichNothingCouldBeWritten) {
    const test::ScratchFolder folder;
    LeftByProcess left;
    left.described.process.host = "node";
    left.described.process.pid = 77;
    left.described.process.program = "train";
    left.described.identity.rank = 3;
    left.counts.not_written = 4;
    left.recorded = true;
    left.message = "No space left on device";
    JobControl control;
    const auto report = reportCapture(folder.path(), control, {&left, 1});
    ASSERT_TRUE(report.ok()) << report.error().text();
    ASSERT_EQ(report.value().processes.size(), 1U);
    const CapturedProcess& process = report.value().processes.front();
    EXPECT_EQ(process.host, "node");
    EXPECT_EQ(process.pid, 77);
    EXPECT_EQ(process.program, "train");
    EXPECT_EQ(process.rank, 3);
    EXPECT_EQ(process.counts.not_written, 4);
    EXPECT_EQ(process.messages.size(), 1U);
}

} // namespace
} // namespace bubblescope::profiler
