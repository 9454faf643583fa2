#include "tests/cli/program.h"
#include "tests/support/extracts.h"
#include "tests/support/shared_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

std::string smallTrace() {
    return (dataDir() / "traces/small_chrome.json").string();
}

/// The output of `info` for a file, without its path.
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

/// The output of `analyze` for a trace, with one name for its files and the `others`; null if it is refused.
nlohmann::json answerOf(const std::filesystem::path& input, const std::vector<std::string>& others = {}) {
    const ProgramResult result = runProgram({"analyze", input.string(), "--json"});
    if (result.exit_code != 0) return {};
    nlohmann::json document = result.json();
    std::string text = document.dump();
    std::vector<std::string> files = document["trace"]["files"];
    files.push_back(input.string());
    files.insert(files.end(), others.begin(), others.end());
    for (const std::string& file : files)
        text = replaced(std::move(text), nlohmann::json(file).dump().substr(1, nlohmann::json(file).dump().size() - 2),
                        "FILE");
    document = nlohmann::json::parse(text);
    document["trace"].erase("files");
    nlohmann::json& problems = document["trace"]["problems"];
    for (nlohmann::json& problem : problems)
        problem.erase("where"); // of the original or of the conversion
    std::sort(problems.begin(), problems.end());
    for (nlohmann::json& finding : document["anomalies"])
        finding.erase("command"); // names what was given, a folder too
    return document;
}

/// A conversion states whose processes it holds, so it answers as the files do that it was made of.
void expectEqualAnswers(const std::filesystem::path& input) {
    const ScratchFolder scratch;
    const nlohmann::json expected = answerOf(input);
    if (expected.is_null()) return;
    std::vector<std::string> originals = runProgram({"analyze", input.string(), "--json"}).json()["trace"]["files"];
    originals.push_back(input.string());
    for (const char* const name : {"converted.json", "converted.pftrace"}) {
        const std::string converted = scratch.file(name);
        const ProgramResult result = runProgram({"convert", input.string(), converted});
        ASSERT_EQ(result.exit_code, 0) << input << result.err;
        const nlohmann::json difference = nlohmann::json::diff(expected, answerOf(converted, originals));
        EXPECT_TRUE(difference.empty()) << input << " as " << name << ": " << difference.dump().substr(0, 1500);
    }
}

TEST(ConvertedTraces, AnswerAsOurTracesDo) {
    for (const char* const kind : {"traces", "people"}) {
        for (const auto& entry : std::filesystem::directory_iterator(dataDir() / kind))
            expectEqualAnswers(entry.path());
    }
    for (const auto& collection : std::filesystem::directory_iterator(dataDir() / "recordings")) {
        if (!collection.is_directory()) continue;
        for (const auto& entry : std::filesystem::directory_iterator(collection))
            if (entry.path().extension() != ".md") expectEqualAnswers(entry.path());
    }
}

TEST(ConvertedTracesOutside, AnswerAsTheyDo) {
    for (const char* const collection : {"ascend-mstt", "kineto", "megatronapp-pp4", "nsys-ai", "param-dlrm-8rank",
                                         "primus", "rocprofv3", "tracelens"}) {
        BUBBLESCOPE_NEED_TRACES(collection);
        expectEqualAnswers(realTrace(collection));
    }
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
    EXPECT_THAT(empty.err, HasSubstr("the trace is"));
    EXPECT_EQ(runProgram({"convert", smallTrace(), folder.file("b.json"), "--svg-from", "5us"}).exit_code, 2);
}

/// Files like those of PyTorch's profiler, in which the same pipeline is found.
TEST(ConvertCommand, WritesAFileOfThePyTorchProfilerForEachRank) {
    const ScratchFolder folder;
    ASSERT_EQ(runProgram({"simulate", "--schedule", "zb-h1", "--pp", "3", "--microbatches", "6", "--comm", "1ms",
                          "--out", folder.file("run.pftrace")})
                  .exit_code,
              0);
    const ProgramResult written =
        runProgram({"convert", folder.file("run.pftrace"), "--to", "kineto", folder.file("profile")});
    ASSERT_EQ(written.exit_code, 0) << written.err;
    for (int rank = 0; rank < 3; ++rank) {
        const auto file = nlohmann::json::parse(
            readAll(folder.path() / "profile" / ("rank" + std::to_string(rank) + ".pt.trace.json")));
        EXPECT_EQ(file["distributedInfo"]["rank"], rank);
        EXPECT_EQ(file["distributedInfo"]["world_size"], 3);
        std::map<std::string, int> kernels;
        std::set<int> launches;
        std::set<int> launched;
        for (const auto& event : file["traceEvents"]) {
            if (event.value("cat", "") == "cuda_runtime") launches.insert(event["args"]["correlation"].get<int>());
            if (event.value("cat", "") != "kernel") continue;
            ++kernels[event["name"].get<std::string>()];
            launched.insert(event["args"]["correlation"].get<int>());
            EXPECT_EQ(event["pid"], 0);
            EXPECT_EQ(event["tid"], event["args"]["stream"]);
        }
        EXPECT_EQ(launched, launches);
        EXPECT_EQ(kernels["W2.0"], 1);
        EXPECT_GE(kernels["ncclDevKernel_SendRecv"], 12);
    }
    const nlohmann::json original = runProgram({"analyze", "--json", folder.file("run.pftrace")}).json();
    const nlohmann::json profile = runProgram({"analyze", "--json", folder.file("profile")}).json();
    EXPECT_EQ(profile.at("schedule").at("schedule"), "zb-h1");
    EXPECT_EQ(profile.at("schedule").at("confidence"), 1);
    EXPECT_EQ(profile.at("steps"), original.at("steps"));
}

/// A recorded job without a device: its ops are kernels, and its steps those of its framework.
TEST(ConvertCommand, WritesRecordedOpsForToolsThatKnowKernels) {
    const ScratchFolder folder;
    const std::string job = (dataDir() / "recordings/torch-recorded/1f1b_dp2_pp2_mb4").string();
    const ProgramResult written = runProgram({"convert", job, "--to", "kineto", folder.file("profile")});
    ASSERT_EQ(written.exit_code, 0) << written.err;
    for (int rank = 0; rank < 4; ++rank) {
        const auto file = nlohmann::json::parse(
            readAll(folder.path() / "profile" / ("rank" + std::to_string(rank) + ".pt.trace.json")));
        std::map<std::string, int> kernels;
        std::set<std::string> steps;
        for (const auto& event : file["traceEvents"]) {
            const std::string name = event.value("name", "");
            if (event.value("cat", "") == "kernel") ++kernels[name];
            if (name.starts_with("ProfilerStep#")) steps.insert(name);
        }
        const std::string stage = std::to_string(rank % 2);
        EXPECT_EQ(kernels[stage + "F3"], 3);
        EXPECT_EQ(kernels["Optimizer"], 3);
        EXPECT_EQ(kernels["ncclDevKernel_SendRecv"], 24);
        EXPECT_EQ(steps, (std::set<std::string>{"ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2"}));
    }
    const nlohmann::json profile = runProgram({"analyze", "--json", folder.file("profile")}).json();
    EXPECT_EQ(profile.at("schedule").at("schedule"), "1f1b");
}

TEST(ConvertCommand, WritesAStepAsExecutionTraces) {
    const ScratchFolder folder;
    ASSERT_EQ(runProgram({"simulate", "--schedule", "interleaved", "--vpp", "2", "--pp", "2", "--microbatches", "4",
                          "--out", folder.file("run.pftrace")})
                  .exit_code,
              0);
    const ProgramResult written = runProgram(
        {"convert", folder.file("run.pftrace"), "--to", "chakra", folder.file("et"), "--transfer-bytes", "4KiB"});
    ASSERT_EQ(written.exit_code, 0) << written.err;
    EXPECT_TRUE(readAll(folder.path() / "et/rank.0.et")
                    .starts_with("\x07\x0a\x05"
                                 "0.0.4"));
    EXPECT_FALSE(readAll(folder.path() / "et/rank.1.et").empty());
    EXPECT_EQ(written.err.find("Every transfer"), std::string::npos) << written.err;
    const ProgramResult unknown =
        runProgram({"convert", folder.file("run.pftrace"), "--to", "chakra", folder.file("unknown")});
    EXPECT_NE(unknown.err.find("Every transfer has 1 byte;"), std::string::npos) << unknown.err;
    const std::string job = (dataDir() / "recordings/torch-recorded/1f1b_dp2_pp2_mb4").string();
    const ProgramResult stated = runProgram({"convert", job, "--to", "chakra", folder.file("job")});
    EXPECT_NE(stated.err.find("Every transfer has 4.00 KiB, the usual size in the trace"), std::string::npos)
        << stated.err;
    EXPECT_EQ(runProgram({"convert", smallTrace(), folder.file("a.json"), "--transfer-bytes", "1"}).exit_code, 2);
    EXPECT_EQ(runProgram({"convert", smallTrace(), "--to", "chakra", folder.file("none")}).exit_code, 3);
}

TEST(ConvertCommand, SaysWhatItCannotDo) {
    const ScratchFolder folder;
    const ProgramResult unknown = runProgram({"convert", smallTrace(), folder.file("a.xyz.gz")});
    EXPECT_EQ(unknown.exit_code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("the format cannot be determined"));
    EXPECT_EQ(runProgram({"convert", smallTrace(), folder.file("no/folder/a.json")}).exit_code, 3);
    EXPECT_EQ(runProgram({"convert", folder.file("missing.json"), folder.file("a.json")}).exit_code, 3);
}

} // namespace
} // namespace bubblescope::test
