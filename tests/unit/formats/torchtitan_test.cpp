#include "tests/unit/formats/trace_bytes.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TEST(TorchtitanLog, PairsStartsAndEnds) {
    const test::ScratchFolder folder;
    const auto read = test::readBytes(
        folder,
        R"({"rank": 3, "source": "trainer", "step": 7, "log_type_name": "step_start", "time_us": 1779630000000000}
{"rank": 3, "source": "trainer", "step": 7, "log_type_name": "data_load_start", "time_us": 1779630000000100}
{"rank": 3, "source": "trainer", "step": 7, "log_type_name": "data_load_end", "time_us": 1779630000000150, "value": 2.5}

{"rank": 3, "source": "trainer", "step": 7, "log_type_name": "loss", "time_us": 1779630000000200, "value": 1.25}
not an event
{"rank": 3, "source": "trainer", "step": 7, "log_type_name": "step_end", "time_us": 1779630000000900}
{"rank": 3, "source": "trainer", "step": 8, "log_ty)");
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = *read.value().trace;
    ASSERT_EQ(trace.sliceCount(), 2U);
    EXPECT_EQ(trace.files()[0].format, "torchtitan");
    EXPECT_EQ(trace.files()[0].rank, 3);
    EXPECT_EQ(trace.origin(), TimeNs{1779630000000000000});
    const SliceId load = test::findSlice(trace, "data_load");
    ASSERT_NE(load, kNoId);
    EXPECT_EQ(trace.start(load), TimeNs{100'000});
    EXPECT_EQ(trace.end(load), TimeNs{150'000});
    EXPECT_EQ(trace.intArg(trace.sliceArgs()[load], "step"), 7);
    EXPECT_EQ(trace.arg(trace.sliceArgs()[load], "value"), ArgValue(2.5));
    ASSERT_EQ(trace.instants().size(), 1U);
    EXPECT_EQ(test::countOf(read.value().problems, "bad-event"), 1);
    EXPECT_EQ(test::countOf(read.value().problems, "truncated"), 1);
}

} // namespace
} // namespace bubblescope
