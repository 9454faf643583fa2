// Results never replace existing files unless the user allows it, and a result's file is either complete or unchanged.

#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <filesystem>
#include <string>
#include <vector>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

const Words kSimulate{"simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4"};

Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

/// A command that writes, and what it writes: a file, or one of those in a folder.
struct Writing {
    std::string name;
    Words words; ///< to which the output's name is appended
    std::string file;
};

class Outputs : public testing::TestWithParam<Writing> {
protected:
    void SetUp() override {
        ASSERT_EQ(runProgram(with(kSimulate, {"--out", folder_.file("in.pftrace")})).exit_code, 0);
    }
    [[nodiscard]] Words words(const std::string& output) const {
        Words all;
        for (const std::string& word : GetParam().words)
            all.push_back(word == "IN" ? folder_.file("in.pftrace") : word);
        all.push_back(output);
        return all;
    }
    ScratchFolder folder_;
};

TEST_P(Outputs, EarlierResultsStayWithoutForce) {
    const std::string output = folder_.file("out" + std::filesystem::path(GetParam().file).extension().string());
    const std::size_t folder = GetParam().file.find('/'); // of a result that is one
    const std::filesystem::path file = folder == std::string::npos ? output : output + GetParam().file.substr(folder);
    const ProgramResult first = runProgram(words(output));
    ASSERT_EQ(first.exit_code, 0) << first.err;
    ASSERT_TRUE(std::filesystem::exists(file)) << file;
    const std::string result = readAll(file);
    ASSERT_FALSE(result.empty());
    std::filesystem::resize_file(file, 1); // so that it shows whether it was written again

    const ProgramResult again = runProgram(words(output));
    EXPECT_EQ(again.exit_code, 2);
    EXPECT_THAT(again.err, HasSubstr("--force"));
    EXPECT_EQ(std::filesystem::file_size(file), 1U);

    Words forced = words(output);
    forced.insert(forced.begin() + 1, "--force");
    const ProgramResult replaced = runProgram(forced);
    EXPECT_EQ(replaced.exit_code, 0) << replaced.err;
    EXPECT_GT(std::filesystem::file_size(file), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Of, Outputs,
    testing::Values(Writing{"trace", with(kSimulate, {"--out"}), "out.pftrace"},
                    Writing{"drawing", with(kSimulate, {"--svg"}), "out.svg"},
                    Writing{
                        "order", {"search", "--pp", "2", "--microbatches", "2", "--rounds", "5", "--out"}, "out.csv"},
                    Writing{"page", {"analyze", "IN", "--html"}, "out.html"},
                    Writing{"tables", {"analyze", "IN", "--csv"}, "out/steps.csv"},
                    Writing{"converted", {"convert", "IN"}, "out.json"},
                    Writing{"kineto", {"convert", "IN", "--to", "kineto"}, "out/rank0.pt.trace.json"},
                    Writing{"chakra", {"convert", "IN", "--to", "chakra"}, "out/rank.0.et"},
                    Writing{"run",
                            {"run", "--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--steps", "1", "--out"},
                            "out/rank0.pftrace"},
                    Writing{"comparison",
                            {"run", "--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--steps", "1",
                             "--compare", "gpipe", "--out"},
                            "out/1f1b/rank0.pftrace"}),
    [](const auto& of) { return of.param.name; });

TEST(Output, OfAnEarlierRunNothingStays) {
    const ScratchFolder folder;
    const auto run = [&](const char* ranks) {
        return Words{"run", "--force", "--schedule",      "1f1b", "--pp", ranks, "--microbatches", "4", "--steps",
                     "1",   "--out",   folder.file("run")};
    };
    ASSERT_EQ(runProgram(run("4")).exit_code, 0);
    ASSERT_EQ(runProgram(run("2")).exit_code, 0);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "run/rank3.pftrace"));
    EXPECT_EQ(runProgram({"analyze", "--json", folder.file("run")}).json().at("schedule").at("pp"), 2);
}

TEST(Output, ATraceIsNotConvertedOntoItself) {
    const ScratchFolder folder;
    const std::string trace = folder.file("a.pftrace");
    ASSERT_EQ(runProgram(with(kSimulate, {"--out", trace})).exit_code, 0);
    const std::string before = readAll(trace);
    EXPECT_EQ(runProgram({"convert", trace, trace}).exit_code, 2);
    EXPECT_EQ(readAll(trace), before);
    ASSERT_EQ(runProgram({"convert", "--force", trace, trace}).exit_code, 0);
    EXPECT_EQ(runProgram({"info", trace}).exit_code, 0) << "it was read before it was replaced";
}

TEST(Output, ADashIsStandardOutput) {
    const ScratchFolder folder;
    const ProgramResult simulated = runProgram(with(kSimulate, {"--out", "-"}));
    ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
    EXPECT_THAT(simulated.err, HasSubstr("makespan")) << "what is said goes elsewhere";
    const auto trace = folder.write("trace", simulated.out);
    EXPECT_EQ(runProgram({"analyze", "--json", trace.string()}).json().at("schedule").at("schedule"), "1f1b");
    EXPECT_FALSE(std::filesystem::exists("-"));

    const ProgramResult drawn = runProgram(with(kSimulate, {"--svg", "-"}));
    EXPECT_TRUE(drawn.out.starts_with("<")) << drawn.out.substr(0, 100);
    const ProgramResult converted = runProgram({"convert", trace.string(), "--to", "csv", "-"});
    EXPECT_TRUE(converted.out.starts_with("file,process")) << converted.out.substr(0, 100);
    EXPECT_EQ(runProgram(with(kSimulate, {"--svg", "-", "--out", "-"})).exit_code, 2);
    EXPECT_EQ(runProgram({"convert", trace.string(), "--to", "kineto", "-"}).exit_code, 2);
}

/// For an output that `limit` bytes cannot hold.
class SmallDisk {
public:
    explicit SmallDisk(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    ~SmallDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

TEST(Output, AFullDiskLeavesNothingHalf) {
    const ScratchFolder folder;
    const std::string trace = folder.file("in.pftrace");
    ASSERT_EQ(
        runProgram({"simulate", "--schedule", "1f1b", "--pp", "8", "--microbatches", "64", "--out", trace}).exit_code,
        0);
    const auto old = folder.write("old.json", "before");
    const SmallDisk disk(16 << 10);
    for (const std::string& name : {std::string("new.json"), std::string("old.json")}) {
        const ProgramResult full = runProgram({"convert", "--force", trace, folder.file(name)});
        EXPECT_EQ(full.exit_code, 3) << full.err;
        EXPECT_THAT(full.err, HasSubstr(name));
        EXPECT_THAT(full.err, HasSubstr("nothing was written under that name"));
    }
    EXPECT_EQ(readAll(old), "before");
    const ProgramResult tables = runProgram({"analyze", trace, "--csv", folder.file("tables")});
    EXPECT_EQ(tables.exit_code, 3) << tables.err;
    EXPECT_THAT(tables.err, HasSubstr(".csv"));
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
        files += entry.is_regular_file() ? 1 : 0;
    EXPECT_EQ(files, 2U) << "only what was there";
}

/// Endless and silent inputs.
TEST(Inputs, WhatHasNoEndIsGivenUp) {
    const ScratchFolder folder;
    for (const Words& words :
         {Words{"analyze", "/dev/zero"}, Words{"info", "/dev/zero"}, Words{"schedule", "--schedule-file", "/dev/zero"},
          Words{"simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--stage-times", "/dev/zero"}}) {
        const ProgramResult result = runProgram(words);
        EXPECT_EQ(result.exit_code, 3) << words.front() << result.err;
        EXPECT_THAT(result.err, HasSubstr("/dev/zero"));
    }
}

} // namespace
} // namespace bubblescope::test
