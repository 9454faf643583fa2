#include "tests/cli/program.h"
#include "tests/support/shared_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

std::string smallTrace() {
    return (dataDir() / "traces/small_chrome.json").string();
}

/// What `info` says of a file, without its path.
nlohmann::json infoOf(const std::string& file, const std::string& input = {}) {
    const ProgramResult info = runProgram({"info", "--json", file}, input);
    EXPECT_EQ(info.exit_code, 0) << info.err;
    nlohmann::json document = info.json();
    for (nlohmann::json& one : document["files"]) {
        one.erase("path");
        one.erase("format");
        for (nlohmann::json& track : one["tracks"]) { // a number is written as a name where the format wants one
            if (track["thread"] == "thread 1") track["thread"] = "1";
        }
    }
    return document;
}

TEST(ConvertCommand, WritesEveryFormatPackedOrNot) {
    const ScratchFolder folder;
    const auto expected = infoOf(smallTrace());
    for (const char* const name : {"a.json", "a.json.gz", "a.json.zst", "a.pftrace", "a.pftrace.gz", "a.pftrace.zst"}) {
        const ProgramResult written = runProgram({"convert", smallTrace(), folder.file(name)});
        ASSERT_EQ(written.exit_code, 0) << written.err;
        EXPECT_EQ(infoOf(folder.file(name)), expected) << name;
    }
    const auto first = [&](const char* name) { return readAll(folder.path() / name).substr(0, 1); };
    EXPECT_EQ(first("a.json"), "[");
    EXPECT_EQ(first("a.json.gz"), "\x1f");
    EXPECT_EQ(first("a.pftrace.zst"), "\x28");
}

TEST(ConvertCommand, ReadsStandardInput) {
    const ScratchFolder folder;
    const auto expected = infoOf(smallTrace());
    EXPECT_EQ(infoOf("-", smallTrace()), expected);
    ASSERT_EQ(runProgram({"convert", "-", folder.file("a.json.gz")}, smallTrace()).exit_code, 0);
    EXPECT_EQ(infoOf("-", folder.file("a.json.gz")), expected) << "packed";
}

TEST(ConvertCommand, DrawsARangeOfTime) {
    const ScratchFolder folder;
    const ProgramResult drawn =
        runProgram({"convert", smallTrace(), folder.file("a.svg"), "--svg-to", "50us", "--svg-width", "600"});
    ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
    const std::string text = readAll(folder.path() / "a.svg");
    EXPECT_THAT(text, HasSubstr("width=\"600\""));
    EXPECT_THAT(text, HasSubstr("outer, 0 ns to 100.5"));

    const ProgramResult empty = runProgram({"convert", smallTrace(), folder.file("b.svg"), "--svg-from", "5s"});
    EXPECT_EQ(empty.exit_code, 2);
    EXPECT_THAT(empty.err, HasSubstr("the trace lasts"));
    EXPECT_EQ(runProgram({"convert", smallTrace(), folder.file("b.json"), "--svg-from", "5us"}).exit_code, 2);
}

TEST(ConvertCommand, SaysWhatItCannotDo) {
    const ScratchFolder folder;
    const ProgramResult unknown = runProgram({"convert", smallTrace(), folder.file("a.xyz.gz")});
    EXPECT_EQ(unknown.exit_code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("does not tell a format"));
    EXPECT_EQ(runProgram({"convert", smallTrace(), folder.file("no/folder/a.json")}).exit_code, 3);
    EXPECT_EQ(runProgram({"convert", folder.file("missing.json"), folder.file("a.json")}).exit_code, 3);
}

} // namespace
} // namespace bubblescope::test
