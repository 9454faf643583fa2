#include "core/io/file_bytes.h"
#include "core/io/trace_files.h"
#include "tests/unit/io/trace_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdeflate.h>

#include <stop_token>

namespace bubblescope {
namespace {

using test::countOf;
using test::ScratchFolder;
using testing::HasSubstr;

constexpr std::string_view kTrace = R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1}])";

std::string gzipped(std::string_view text) {
    libdeflate_compressor* const compressor = libdeflate_alloc_compressor(9);
    std::string out(libdeflate_gzip_compress_bound(compressor, text.size()), '\0');
    out.resize(libdeflate_gzip_compress(compressor, text.data(), text.size(), out.data(), out.size()));
    libdeflate_free_compressor(compressor);
    return out;
}

Error errorOf(const std::vector<std::filesystem::path>& paths) {
    JobControl control;
    const auto result = readTraces(paths, control);
    EXPECT_FALSE(result.ok());
    return result.ok() ? Error{} : result.error();
}

TEST(Gzip, UnpacksSeveralMembersAndIgnoresPadding) {
    const std::string packed = gzipped("one ") + gzipped(std::string(100'000, 'x')) + std::string(512, '\0');
    const auto text = unpackGzip(packed, "file");
    ASSERT_TRUE(text.ok()) << text.error().text();
    EXPECT_EQ(text.value(), "one " + std::string(100'000, 'x'));
    EXPECT_GE(text.value().capacity(), text.value().size() + kReadPadding);
}

TEST(Gzip, NamesTheDamagedMember) {
    const std::string first = gzipped("one ");
    std::string packed = first + gzipped("two and some more text to damage");
    packed[first.size() + 20] = static_cast<char>(packed[first.size() + 20] ^ 0x55);
    const auto text = unpackGzip(packed, "file");
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().kind, ErrorKind::Input);
    EXPECT_EQ(text.error().where, "file, byte " + std::to_string(first.size()));
}

TEST(Gzip, RefusesACutAtEveryByte) {
    const std::string packed = gzipped(kTrace);
    for (std::size_t size = 2; size < packed.size(); ++size)
        EXPECT_FALSE(unpackGzip(std::string_view(packed).substr(0, size), "file").ok()) << size;
}

TEST(Gzip, RefusesWhatWouldFillTheMemory) {
    // 300 MB of zeros pack to 300 kB; no trace does.
    const auto text = unpackGzip(gzipped(std::string(std::size_t{300} << 20, '\0')), "file");
    ASSERT_FALSE(text.ok());
    EXPECT_THAT(text.error().message, HasSubstr("unpacks to more than"));
}

TEST(ReadTraces, UnpacksGzip) {
    const ScratchFolder folder;
    auto result = test::readBytes(folder, gzipped(kTrace));
    ASSERT_TRUE(result.ok()) << result.error().text();
    EXPECT_EQ(result.value().trace->sliceCount(), 1U);
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
    EXPECT_EQ(countOf(result.value().problems, "unusable-file"), 1) << "the settings are JSON but no trace";
    EXPECT_EQ(control.done.load(), control.total.load());
    EXPECT_GT(control.total.load(), 0U);
}

TEST(ReadTraces, SaysWhatIsWrongWithAFile) {
    const ScratchFolder folder;
    EXPECT_THAT(errorOf({folder.path() / "absent"}).message, HasSubstr("does not exist"));
    EXPECT_THAT(errorOf({folder.write("empty", "")}).message, HasSubstr("is empty"));
    const Error garbage = errorOf({folder.write("garbage", "\x01\x02garbage")});
    EXPECT_THAT(garbage.message, HasSubstr("no trace file"));
    EXPECT_THAT(garbage.where, HasSubstr("byte 0"));
    EXPECT_FALSE(garbage.hint.empty());
    EXPECT_THAT(errorOf({folder.write("twice.gz", gzipped(gzipped(kTrace)))}).message, HasSubstr("another gzip"));

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

TEST(RankInName, IsTheNumberAfterTheWord) {
    EXPECT_EQ(rankInName("rank3_trace.json"), 3);
    EXPECT_EQ(rankInName("rank-34.Jul_15.pt.trace.json.gz"), 34);
    EXPECT_EQ(rankInName("trace-rank_007.pftrace"), 7);
    EXPECT_EQ(rankInName("rank.json"), std::nullopt);
    EXPECT_EQ(rankInName("trace.json"), std::nullopt);
}

} // namespace
} // namespace bubblescope
