#include "core/formats/read_trace.h"
#include "tests/unit/formats/packed.h"
#include "tests/unit/formats/trace_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stop_token>

namespace bubblescope {
namespace {

using test::countOf;
using test::gzipped;
using test::ScratchFolder;
using test::zstdPacked;
using testing::HasSubstr;

constexpr std::string_view kTrace = R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1}])";

Error errorOf(const std::vector<std::filesystem::path>& paths) {
    JobControl control;
    const auto result = readTraces(paths, control);
    EXPECT_FALSE(result.ok());
    return result.ok() ? Error{} : result.error();
}

TEST(ReadTraces, UnpacksGzipAndZstd) {
    const ScratchFolder folder;
    for (const std::string& packed : {gzipped(kTrace), zstdPacked(kTrace)}) {
        auto result = test::readBytes(folder, packed);
        ASSERT_TRUE(result.ok()) << result.error().text();
        EXPECT_EQ(result.value().trace->sliceCount(), 1U);
        EXPECT_TRUE(result.value().problems.empty());
    }
}

TEST(ReadTraces, ReadsAPackedFileUpToWhereItIsCut) {
    const ScratchFolder folder;
    std::string text = "[";
    for (int i = 0; i < 20'000; ++i)
        text += R"({"ph":"X","name":"op )" + std::to_string(i * 7919 % 20'011) + R"(","pid":1,"tid":1,"ts":)" +
                std::to_string(2 * i) + R"(,"dur":1},)";
    text.back() = ']';
    const std::string packed = gzipped(text);
    auto result = test::readBytes(folder, std::string_view(packed).substr(0, packed.size() / 2));
    ASSERT_TRUE(result.ok()) << result.error().text();
    EXPECT_GT(result.value().trace->sliceCount(), 5'000U);
    EXPECT_LT(result.value().trace->sliceCount(), 20'000U);
    ASSERT_FALSE(result.value().problems.empty());
    EXPECT_EQ(result.value().problems.front().kind, "truncated");
    EXPECT_THAT(result.value().problems.front().message.text(), HasSubstr("compressed data is truncated"));
}

TEST(ReadTraces, TakesTraceFilesBelowAFolderInNaturalOrder) {
    const ScratchFolder folder;
    folder.write("run/rank10_trace.json", kTrace);
    folder.write("run/rank2_trace.json", kTrace);
    folder.write("run/rank3.json.gz", gzipped(kTrace));
    folder.write("run/README.md", "# words");
    folder.write("run/settings.json", R"({"lr": 1})");
    JobControl control;
    auto result = readTraces({folder.path()}, control);
    ASSERT_TRUE(result.ok()) << result.error().text();
    std::vector<std::optional<std::int32_t>> ranks;
    for (const TraceFile& file : result.value().trace->files()) {
        if (!file.format.empty()) ranks.push_back(file.rank);
    }
    EXPECT_EQ(ranks, (std::vector<std::optional<std::int32_t>>{2, 3, 10}));
    EXPECT_EQ(countOf(result.value().problems, "ignored-file"), 1) << "the settings are JSON but no trace";
    EXPECT_EQ(control.done.load(), control.total.load());
    EXPECT_GT(control.total.load(), 0U);
}

TEST(ReadTraces, SaysWhatIsWrongWithAFile) {
    const ScratchFolder folder;
    EXPECT_THAT(errorOf({folder.path() / "absent"}).message, HasSubstr("does not exist"));
    EXPECT_THAT(errorOf({folder.write("empty", "")}).message, HasSubstr("is empty"));
    const Error garbage = errorOf({folder.write("garbage", "\x01\x02garbage")});
    EXPECT_THAT(garbage.message, HasSubstr("not a known trace format"));
    EXPECT_THAT(garbage.where, HasSubstr("byte 0"));
    EXPECT_FALSE(garbage.hint.empty());
    EXPECT_THAT(errorOf({folder.write("twice.gz", gzipped(gzipped(kTrace)))}).message,
                HasSubstr("another compressed file"));

    folder.write("none/notes.txt", "words");
    EXPECT_THAT(errorOf({folder.path() / "none"}).message, HasSubstr("no trace file among its 1 files"));
    EXPECT_EQ(errorOf({}).kind, ErrorKind::Input);
}

TEST(ReadTraces, GoesOnWithoutAFileThatCannotBeUsed) {
    const ScratchFolder folder;
    JobControl control;
    auto result = readTraces({folder.write("bad", "garbage"), folder.write("good", kTrace)}, control);
    ASSERT_TRUE(result.ok()) << result.error().text();
    EXPECT_EQ(countOf(result.value().problems, "unusable-file"), 1);
}

TEST(ReadTraces, StopsWhenAsked) {
    const ScratchFolder folder;
    std::stop_source source;
    source.request_stop();
    JobControl control;
    control.stop = source.get_token();
    const auto result = readTraces({folder.write("trace", kTrace)}, control);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::Cancelled);
}

} // namespace
} // namespace bubblescope
