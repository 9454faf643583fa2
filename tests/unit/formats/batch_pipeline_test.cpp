#include "core/formats/chrome/batch_pipeline.h"
#include "core/formats/read_trace.h"
#include "tests/unit/formats/trace_bytes.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace bubblescope {
namespace {

/// A bare array of more than the pipeline's least size; `args` gives each event's args.
std::string largeTrace(int events, const std::function<std::string(int)>& args) {
    std::string text = "[\n";
    for (int i = 0; i < events; ++i) {
        text += R"({"ph": "X", "cat": "kernel", "name": "kernel )" + std::to_string(i % 97) +
                R"(", "pid": 0, "tid": 7, "ts": )" + std::to_string(3 * i) + R"(.250, "dur": 2, "args": )" + args(i) +
                "},\n";
    }
    text.erase(text.size() - 2);
    return text + "]";
}

std::string plainArgs(int i) {
    return R"({"correlation": )" + std::to_string(i) + R"(, "grid": [1, 2, 3]})";
}

const Trace& expectWhole(const ReadTraces& read, std::size_t slices) {
    const Trace& trace = *read.trace;
    EXPECT_EQ(trace.sliceCount(), slices);
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (trace.start(slice) != TimeNs{3000} * slice || trace.name(slice) != "kernel " + std::to_string(slice % 97)) {
            ADD_FAILURE() << "slice " << slice << " is '" << trace.name(slice) << "' at " << trace.start(slice).count();
            break;
        }
    }
    return trace;
}

TEST(BatchPipeline, GivesAllEventsInOrderWithTheirArgs) {
    const test::ScratchFolder folder;
    constexpr int kEvents = 40'000;
    const auto read = test::readBytes(folder, largeTrace(kEvents, plainArgs));
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = expectWhole(read.value(), kEvents);
    EXPECT_TRUE(read.value().problems.empty());
    for (SliceId slice = 0; slice < trace.sliceCount(); slice += 1'013)
        EXPECT_EQ(trace.intArg(trace.sliceArgs()[slice], "correlation"), slice);
}

// Args may hold arrays of objects that look like events: a cut between two of them must not count.
TEST(BatchPipeline, IsNotFooledByWhatLooksLikeABorder) {
    const test::ScratchFolder folder;
    constexpr int kEvents = 6'000;
    std::string list = R"({"list": [)";
    for (int i = 0; i < 20; ++i)
        list += R"({"ph": "X", "name": "no event", "ts": 0, "dur": 1, "pid": 0, "tid": 0}, )";
    list += R"({"ph": "X"}], "text": "}, {\"ph\": \"X\"}, {"})";
    const auto read = test::readBytes(folder, largeTrace(kEvents, [&](int) { return list; }));
    ASSERT_TRUE(read.ok()) << read.error().text();
    expectWhole(read.value(), kEvents);
    EXPECT_TRUE(read.value().problems.empty());
}

TEST(BatchPipeline, LosesOnlyTheDamagedEvent) {
    const test::ScratchFolder folder;
    constexpr int kEvents = 40'000;
    std::string text = largeTrace(kEvents, plainArgs);
    const std::size_t place = text.find("\"dur\"", text.size() / 2);
    text[place + 7] = '?'; // inside the braces, which stay balanced
    text.replace(text.find("\"dur\"", text.size() / 3), 8, "\"dur\" \"2");
    const auto read = test::readBytes(folder, text);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_GE(read.value().trace->sliceCount(), static_cast<std::size_t>(kEvents - 2));
    EXPECT_GE(test::countOf(read.value().problems, "bad-event"), 1);
}

TEST(BatchPipeline, ReadsUpToWhereAFileIsCut) {
    const test::ScratchFolder folder;
    const std::string text = largeTrace(40'000, plainArgs);
    const auto read = test::readBytes(folder, std::string_view(text).substr(0, text.size() * 3 / 4));
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_NEAR(static_cast<double>(read.value().trace->sliceCount()), 30'000, 300);
    EXPECT_EQ(test::countOf(read.value().problems, "truncated"), 1);
}

} // namespace
} // namespace bubblescope
