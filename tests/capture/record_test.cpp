#include "tests/capture/recorded_slices.h"
#include "tests/capture/slow_way.h"
#include "tests/cli/beside.h"
#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

class Record : public testing::Test {
protected:
    ProgramResult record(const std::string& what, std::vector<std::string> options = {}) {
        std::vector<std::string> words{"record", "--out", dir(), "--report", scratch_.file("report")};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"--", BUBBLESCOPE_TEST_JOB, what});
        return runProgram(words);
    }
    void removeResults() const {
        std::filesystem::remove_all(dir());
        std::filesystem::remove(scratch_.file("report"));
    }
    [[nodiscard]] std::string dir() const { return scratch_.file("traces"); }
    [[nodiscard]] nlohmann::json report() const {
        std::ifstream file(scratch_.file("report"));
        return nlohmann::json::parse(file);
    }
    [[nodiscard]] std::map<std::string, int> slices() const {
        const auto read = slicesIn(dir());
        EXPECT_TRUE(read.ok()) << read.error().text();
        return read.value();
    }
    [[nodiscard]] std::size_t files() const {
        if (!std::filesystem::exists(dir())) return 0;
        std::size_t count = 0;
        for (const auto& file : std::filesystem::directory_iterator(dir()))
            count += file.path().extension() == ".pftrace" ? 1 : 0;
        return count;
    }

    ScratchFolder scratch_;
};

TEST_F(Record, AJobsRangesAreThereAndAnalyzeKnowsThem) {
    const ProgramResult recorded = record("threads");
    EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
    EXPECT_EQ(recorded.out, "the job's own output\n");
    EXPECT_THAT(recorded.err, HasSubstr("nothing lost"));
    EXPECT_EQ(slices(), (std::map<std::string, int>{{"F0", 3}, {"F1", 3}, {"B0", 3}, {"B1", 3}, {"other", 1}}));
    const auto told = report();
    ASSERT_EQ(told["processes"].size(), 1U);
    EXPECT_EQ(told["processes"][0]["recorded"]["ranges"], 13);
    EXPECT_EQ(told["slices"]["nvtx"], 13);

    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    EXPECT_EQ(analysis["schedule"]["schedule"], "fthenb") << analysis.dump().substr(0, 400);
    EXPECT_EQ(analysis["steps"].size(), 3U);
    const auto attached = runProgram({"attach", dir(), "--json"}).json();
    EXPECT_EQ(attached["processes"], told["processes"]);
}

TEST_F(Record, MonitorRecognisesTheStepsThatAnalyzeDoes) {
    ASSERT_EQ(record("threads").exit_code, 0);
    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    const ProgramResult watched = runProgram({"monitor", dir(), "--steps", "3", "--patience", "100ms"});
    EXPECT_EQ(watched.exit_code, 0) << watched.err;
    std::istringstream lines(watched.out);
    std::string schedule;
    std::vector<nlohmann::json> steps;
    for (std::string line; std::getline(lines, line);) {
        auto document = nlohmann::json::parse(line);
        if (document["event"] == "run") schedule = document["schedule"];
        if (document["event"] == "step") steps.push_back(std::move(document));
    }
    EXPECT_EQ(schedule, "fthenb");
    ASSERT_EQ(steps.size(), 3U) << watched.out;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i]["step"], i);
        EXPECT_EQ(steps[i]["wall_ns"], analysis["steps"][i]["wall_ns"]);
        EXPECT_EQ(steps[i]["busy_ns"], analysis["steps"][i]["ranks"][0]["busy_ns"]);
        EXPECT_EQ(steps[i]["bubble_ns"], analysis["steps"][i]["ranks"][0]["bubble_ns"]);
    }
}

TEST_F(Record, AJobIsWatchedFromElsewhereWhileItIsRecorded) {
    const std::string token = scratch_.writeSecret("token", "only we know\n").string();
    Beside monitor({"monitor", "--listen", "0", "--token-file", token, "--keep", scratch_.file("kept")},
                   scratch_.file("lines"));
    const std::string address = monitor.said("Listening on ");
    const ProgramResult recorded = record("train", {"--forward", address, "--token-file", token});
    EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
    EXPECT_EQ(monitor.wait(), 0) << "it ends with the job";
    const auto analysis = runProgram({"analyze", dir(), "--json"}).json();
    const auto all = documents(scratch_.file("lines"));
    const auto steps = ofKind(all, "step");
    ASSERT_EQ(steps.size(), 3U);
    for (std::size_t i = 0; i < steps.size(); ++i)
        EXPECT_EQ(steps[i]["wall_ns"], analysis["steps"][i]["wall_ns"]);
    const auto ranks = ofKind(all, "rank");
    ASSERT_FALSE(ranks.empty());
    EXPECT_EQ(ranks.back()["state"], "ended");
    EXPECT_EQ(all.back()["counts"]["torn"], 0);
    EXPECT_EQ(runProgram({"analyze", scratch_.file("kept"), "--json"}).json()["steps"], analysis["steps"]);
}

TEST_F(Record, AMonitorSaysThatAKilledJobIsGone) {
    ASSERT_EQ(record("killed").exit_code, 128 + SIGKILL);
    const ProgramResult watched = runProgram({"monitor", dir(), "--json"});
    EXPECT_EQ(watched.exit_code, 4) << watched.err;
    EXPECT_THAT(watched.out, HasSubstr(R"("state":"gone")"));
    EXPECT_THAT(watched.out, HasSubstr(R"("event":"run_ended")"));
}

TEST_F(Record, AJobDoesNotDependOnWhoListens) {
    const std::string token = scratch_.writeSecret("token", "only we know\n").string();
    Beside monitor({"monitor", "--listen", "0", "--token-file", token}, scratch_.file("lines"));
    const std::string address = monitor.said("Listening on ");
    const std::string guess = scratch_.writeSecret("guess", "password\n").string();
    const ProgramResult recorded = record("exit", {"--forward", address, "--token-file", guess});
    EXPECT_EQ(recorded.exit_code, 42) << recorded.err;
    EXPECT_THAT(recorded.err, HasSubstr("token"));
    EXPECT_EQ(slices().size(), 4U) << "the traces are there";
}

TEST_F(Record, AMonitorThatTakesLittleIsNotWaitedForForever) {
    const std::string token = scratch_.writeSecret("token", "only we know\n").string();
    Beside monitor({"monitor", "--listen", "0", "--token-file", token}, scratch_.file("lines"));
    const SlowWay way(monitor.said("Listening on "), std::size_t{1} << 16);
    const ProgramResult recorded =
        record("fast", {"--forward", way.address(), "--token-file", token, "--patience", "1500ms"});
    EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
    EXPECT_THAT(recorded.err, HasSubstr("bubblescope: not yet sent to the monitor: "));
    EXPECT_THAT(recorded.err, HasSubstr("of the recording did not reach the monitor: it "));
    EXPECT_THAT(recorded.err, HasSubstr("send the folder later"));
    EXPECT_EQ(slices()["F0"], 1'000'000);
}

TEST_F(Record, ASignalEndsTheSendingAndLeavesTheJobsExitCode) {
    const std::string token = scratch_.writeSecret("token", "only we know\n").string();
    Beside monitor({"monitor", "--listen", "0", "--token-file", token}, scratch_.file("lines"));
    const std::string address = monitor.said("Listening on ");
    monitor.signal(SIGSTOP);
    const std::vector<std::string> words{
        "record",     "--out", dir(), "--forward",          address, "--token-file", token,
        "--patience", "600s",  "--",  BUBBLESCOPE_TEST_JOB, "exit"};
    Beside recorded(words, scratch_.file("out"));
    EXPECT_THAT(recorded.said("bubblescope: not yet sent to the monitor: "), HasSubstr("Ctrl-C"));
    recorded.signal(SIGTERM);
    EXPECT_THAT(recorded.said("bubblescope: "),
                HasSubstr("did not reach the monitor: a signal interrupted the transfer"));
    EXPECT_EQ(recorded.wait(), 42);
    // A job that was itself asked to stop: it passes a signal to `record`, which passes it on.
    removeResults();
    const ProgramResult asked = record("wait", {"--forward", address, "--token-file", token, "--patience", "600s"});
    EXPECT_EQ(asked.exit_code, 43) << asked.err;
    EXPECT_THAT(asked.err, HasSubstr("did not reach the monitor"));
}

TEST_F(Record, TheExitCodeIsTheJobs) {
    EXPECT_EQ(record("exit").exit_code, 42);
    EXPECT_EQ(slices().size(), 4U);
    const ProgramResult missing = runProgram({"record", "--out", dir() + "2", "--", scratch_.file("no_program")});
    EXPECT_EQ(missing.exit_code, 127);
    EXPECT_THAT(missing.err, HasSubstr("no_program: cannot start"));
}

TEST_F(Record, AJobThatUsesNothingLeavesNothing) {
    const ProgramResult recorded = record("quiet");
    EXPECT_EQ(recorded.exit_code, 0);
    EXPECT_EQ(files(), 0U);
    EXPECT_THAT(recorded.err, HasSubstr("nothing was recorded"));
}

TEST_F(Record, AFolderThatCannotBeWrittenEndsBeforeTheJob) {
    const std::string ran = scratch_.file("ran");
    const ProgramResult recorded = runProgram({"record", "--out", "/proc/none", "--", "/usr/bin/touch", ran});
    EXPECT_EQ(recorded.exit_code, 3);
    EXPECT_THAT(recorded.err, HasSubstr("/proc/none"));
    EXPECT_FALSE(std::filesystem::exists(ran));
}

TEST_F(Record, AKilledJobsFileIsReadable) {
    const ProgramResult recorded = record("killed");
    EXPECT_EQ(recorded.exit_code, 128 + 9);
    EXPECT_EQ(slices(), (std::map<std::string, int>{{"F0", 2}, {"F1", 2}, {"B0", 2}, {"B1", 2}, {"open", 1}}));
    EXPECT_THAT(recorded.err, HasSubstr("slices without an end")) << "the one that was open";
    EXPECT_THAT(recorded.err, HasSubstr("1 event lost or incomplete"));
    EXPECT_EQ(report()["processes"][0]["lost"]["unmatched"], 1);
}

TEST_F(Record, AForkHasATraceOfItsOwnIfItRecords) {
    EXPECT_EQ(record("forks").exit_code, 0);
    EXPECT_EQ(files(), 2U);
    EXPECT_EQ(slices(), (std::map<std::string, int>{{"F0", 3}, {"F1", 3}, {"B0", 3}, {"B1", 3}, {"of the child", 1}}));
}

TEST_F(Record, PassesSignalsOn) {
    EXPECT_EQ(record("wait").exit_code, 43);
    EXPECT_EQ(slices().size(), 4U);
}

TEST_F(Record, LosesNothingOfAMillionRangesInABurst) {
    const ProgramResult recorded = record("fast");
    EXPECT_EQ(recorded.exit_code, 0);
    EXPECT_THAT(recorded.err, HasSubstr("nothing lost"));
    EXPECT_EQ(report()["slices"]["nvtx"], 1'000'000);
}

/// A range is in the file, or its begin was lost, or its end.
std::int64_t accountedFor(const nlohmann::json& process) {
    std::int64_t sum = process["recorded"]["ranges"].get<std::int64_t>();
    for (const char* name : {"lost_in_rings", "not_written", "unmatched"})
        sum += process["lost"][name].get<std::int64_t>();
    return sum;
}

TEST_F(Record, WhatItLosesForWantOfMemoryAddsUp) {
    EXPECT_EQ(record("many", {"--capture", "buffer=256KiB"}).exit_code, 0);
    EXPECT_EQ(accountedFor(report()["processes"][0]), 64 * 5'000 + 1);
    EXPECT_EQ(report()["processes"][0]["account"], "own");
}

TEST_F(Record, AllThreadsTogetherKeepToTheLimitOfSize) {
    constexpr std::uintmax_t kLimit = std::uintmax_t{1} << 20;
    EXPECT_EQ(record("many", {"--size", "1MiB"}).exit_code, 0);
    std::uintmax_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(dir()))
        bytes += file.path().extension() == ".pftrace" ? file.file_size() : 0;
    EXPECT_LE(bytes, kLimit);
    EXPECT_GT(bytes, kLimit / 4);
}

TEST_F(Record, WritesWhatAProcessLeavesThatEndsWithoutItsDestructors) {
    for (const auto& [how, exit_code] :
         {std::pair("kill", 128 + SIGKILL), std::pair("exec", 0), std::pair("_exit", 0)}) {
        removeResults();
        const ProgramResult recorded = record(how);
        EXPECT_EQ(recorded.exit_code, exit_code) << how;
        const auto process = report()["processes"][0];
        EXPECT_EQ(process["account"], "record") << how;
        EXPECT_EQ(process["recorded"]["ranges"], 50) << how;
        EXPECT_EQ(slices(), (std::map<std::string, int>{{"F0", 50}, {"around", 1}})) << how;
        EXPECT_EQ(process["lost"]["unmatched"], 1) << how << ": the range around them";
        EXPECT_THAT(recorded.err, HasSubstr("1 event lost or incomplete")) << how;
        const std::string end = how == std::string("kill") ? "killed by SIGKILL" : "";
        EXPECT_EQ(process["messages"].dump(), end.empty() ? "[]" : "[\"" + end + "\"]") << how;
    }
}

TEST_F(Record, AJobThatCleansItsFolderUpLosesNothing) {
    for (const std::string how : {"cleans", "moves"}) {
        removeResults();
        const ProgramResult recorded = record(how);
        EXPECT_EQ(recorded.exit_code, 0) << how;
        EXPECT_THAT(recorded.err, HasSubstr("nothing lost")) << how;
        EXPECT_EQ(slices(), (std::map<std::string, int>{{"F0", 5}, {"kept", 200}})) << how;
    }
}

TEST_F(Record, NamesWhatIsNoLongerInTheFolder) {
    const auto recordThen = [&](const std::string& then) {
        removeResults();
        const std::string script = R"sh("$1" exit; "$1" exit; )sh" + then;
        return runProgram({"record", "--out", dir(), "--report", scratch_.file("report"), "--", "/bin/sh", "-c", script,
                           dir(), BUBBLESCOPE_TEST_JOB});
    };
    EXPECT_THAT(recordThen("true").err, HasSubstr("2 processes, nothing lost"));
    EXPECT_THAT(recordThen(R"sh(rm "$(ls "$0"/*.pftrace | head -n 1)")sh").err,
                HasSubstr("2 processes, 1 file missing, 4 events lost or incomplete"));
    const ProgramResult all = recordThen(R"sh(rm -r "$0")sh");
    EXPECT_THAT(all.err, HasSubstr("2 processes, 2 files missing, 8 events lost or incomplete"));
    const auto told = report();
    ASSERT_EQ(told["processes"].size(), 2U);
    for (const auto& process : told["processes"]) {
        EXPECT_EQ(process["recorded"]["ranges"], 4) << "as the process stated";
        EXPECT_EQ(process["lost"]["unreadable"], 4);
        EXPECT_EQ(process["lost"]["files_missing"], 1);
    }
}

TEST_F(Record, CountsAllOpenRangesOfAProcessThatEndsAbruptly) {
    EXPECT_EQ(record("open").exit_code, 0);
    EXPECT_EQ(report()["processes"][0]["lost"]["unmatched"], 1000);
}

TEST_F(Record, AProcessStatesItsAccountWhereItsMemoryCannotBeHeld) {
    // Neither the job nor `record` may have a file of that size.
    const std::string limited = R"(ulimit -f 1; exec "$0" record --out "$1" -- "$2" exit)";
    const std::string errors = scratch_.file("errors");
    const int status = std::system(("sh -c '" + limited + "' '" BUBBLESCOPE_PROGRAM "' '" + dir() +
                                    "' '" BUBBLESCOPE_TEST_JOB "' >/dev/null 2>" + errors)
                                       .c_str());
    EXPECT_EQ(WEXITSTATUS(status), 42);
    const std::string said = test::readAll(errors);
    EXPECT_THAT(said, testing::Not(HasSubstr("did not end by themselves")));
    EXPECT_THAT(said, testing::Not(HasSubstr("no process used NVTX")));
    EXPECT_THAT(said, testing::AnyOf(HasSubstr("4 events lost"), HasSubstr("nothing lost")));
}

TEST_F(Record, ForkedChildrenThatExitHaveTracesOfTheirOwn) {
    EXPECT_EQ(record("children").exit_code, 0);
    const auto told = report();
    EXPECT_EQ(told["processes"].size(), 5U);
    for (const auto& process : told["processes"])
        EXPECT_EQ(process["recorded"]["ranges"], 50);
    EXPECT_EQ(files(), 5U);
}

TEST_F(Record, AJobsOwnLimitsCostItNothing) {
    for (const auto& [how, ranges] : {std::pair("limited", 8'000), std::pair("descriptors", 51)}) {
        removeResults();
        const ProgramResult recorded = record(how);
        EXPECT_EQ(recorded.exit_code, 42) << how;
        EXPECT_EQ(recorded.out, "the job's own output\n") << how;
        ASSERT_EQ(report()["processes"].size(), 1U) << how << recorded.err;
        EXPECT_EQ(report()["processes"][0]["recorded"]["ranges"], ranges) << how;
        EXPECT_THAT(recorded.err, HasSubstr("nothing lost")) << how;
    }
}

TEST_F(Record, WhatCannotBeWrittenIsCounted) {
    // The folder exists when `record` begins, and then becomes a file.
    const std::string folder = scratch_.file("no_folder");
    const std::string spoil = R"(rm -r "$0" && : > "$0" && exec "$@")";
    const ProgramResult recorded =
        runProgram({"record", "--out", folder + "/traces", "--report", scratch_.file("report"), "--", "/bin/sh", "-c",
                    spoil, folder, BUBBLESCOPE_TEST_JOB, "exit"});
    EXPECT_EQ(recorded.exit_code, 42) << recorded.err;
    ASSERT_EQ(report()["processes"].size(), 1U) << recorded.err;
    EXPECT_EQ(accountedFor(report()["processes"][0]), 4);
    EXPECT_EQ(report()["processes"][0]["lost"]["not_written"], 4);
    EXPECT_THAT(recorded.err, HasSubstr("4 events lost"));
    EXPECT_THAT(recorded.err, HasSubstr("no_folder"));
}

TEST_F(Record, WhatNobodyWatchedIsUnknown) {
    ASSERT_EQ(record("kill").exit_code, 128 + SIGKILL);
    // As without `record`: the file of a process that was killed, and nothing behind what it wrote itself.
    for (const auto& file : std::filesystem::directory_iterator(dir())) {
        std::string bytes = test::readAll(file.path());
        bytes.resize(bytes.rfind("capture recovered") == std::string::npos ? bytes.size() : bytes.size() / 2);
        std::ofstream(file.path(), std::ios::binary) << bytes;
    }
    const ProgramResult told = runProgram({"attach", dir()});
    EXPECT_THAT(told.out, HasSubstr("unknown"));
    EXPECT_THAT(told.out, testing::Not(HasSubstr("nothing lost")));
}

TEST_F(Record, DoesNotWriteIntoFilesThatGotItsNumbers) {
    const std::string own = scratch_.file("own");
    const ProgramResult recorded = runProgram(
        {"record", "--out", dir(), "--report", scratch_.file("report"), "--", BUBBLESCOPE_TEST_JOB, "closes", own});
    EXPECT_EQ(recorded.exit_code, 42) << recorded.err;
    EXPECT_EQ(std::filesystem::file_size(own), 0U);
    EXPECT_EQ(report()["processes"][0]["recorded"]["ranges"], 100);
}

TEST_F(Record, SurvivesATorturedJob) {
    const ProgramResult recorded = record("torture");
    EXPECT_EQ(recorded.exit_code, 42) << recorded.err;
    const std::int64_t begun = std::stoll(recorded.out.substr(recorded.out.find('\n') + 1));
    std::int64_t accounted = 0;
    std::int64_t open = 0;
    const auto told = report();
    for (const auto& process : told["processes"]) {
        accounted += accountedFor(process);
        open += process["lost"]["unmatched"].get<std::int64_t>(); // each child leaves a range that has no end
        EXPECT_EQ(process["lost"]["lost_in_rings"], 0);
        EXPECT_NE(process["account"], "none");
    }
    EXPECT_EQ(accounted, begun);
    EXPECT_EQ(open, 48);
}

TEST_F(Record, ASignalToTheGroupReachesTheJobOnce) {
    const std::string command = "setsid -w '" BUBBLESCOPE_PROGRAM "' record --out '" + dir() +
                                "' -- '" BUBBLESCOPE_TEST_JOB "' signals > /dev/null 2>&1";
    const int status = std::system(command.c_str());
    if (WEXITSTATUS(status) == 127) GTEST_SKIP() << "setsid is not installed";
    EXPECT_EQ(WEXITSTATUS(status), 6);
}

TEST_F(Record, KeepsJobsApart) {
    EXPECT_EQ(record("exit").exit_code, 42);
    const ProgramResult again = record("exit");
    EXPECT_EQ(again.exit_code, 2);
    EXPECT_THAT(again.err, HasSubstr("an earlier recording"));
    EXPECT_EQ(again.out, "") << "the job was not started";
}

TEST_F(Record, ChecksItsOptionsBeforeTheJobStarts) {
    const ProgramResult wrong = record("exit", {"--steps", "9-3"});
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_EQ(wrong.out, "");
    EXPECT_THAT(wrong.err, HasSubstr("9-3"));
    EXPECT_EQ(record("exit", {"--memory", "--record", "nvtx+nccl"}).exit_code, 2) << "memory comes from CUPTI";
    EXPECT_EQ(record("exit", {"--kernels", "every=5", "--record", "nvtx+nccl"}).exit_code, 2) << "as do kernels";
    EXPECT_EQ(record("exit", {"--kernels", "5"}).exit_code, 2);
}

TEST_F(Record, EnvSaysWhatALauncherMustSet) {
    const auto variables = runProgram({"env", "--out", dir(), "--pipeline", "--record", "nvtx+nccl", "--json"}).json();
    EXPECT_EQ(variables["BUBBLESCOPE_CAPTURE_DIR"], dir());
    EXPECT_EQ(variables["BUBBLESCOPE_CAPTURE"], "mode=pipeline,record=nvtx+nccl");
    EXPECT_THAT(variables["NVTX_INJECTION64_PATH"].get<std::string>(), HasSubstr("libbubblescope_inject.so"));
    EXPECT_EQ(variables["NVTX_INJECTION64_PATH"], variables["NCCL_PROFILER_PLUGIN"]);
    EXPECT_FALSE(variables.contains("CUDA_INJECTION64_PATH"));
    EXPECT_EQ(runProgram({"env", "--out", dir(), "--memory", "--json"}).json()["BUBBLESCOPE_CAPTURE"], "memory=device");
    EXPECT_EQ(runProgram({"env", "--out", dir(), "--kernels", "every=5", "--json"}).json()["BUBBLESCOPE_CAPTURE"],
              "kernels=every=5");
    const ProgramResult shell = runProgram({"env", "--out", dir()});
    EXPECT_THAT(shell.out, HasSubstr("export CUDA_INJECTION64_PATH='"));
}

std::string outputOf(const std::string& command) {
    std::string out;
    FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return out;
    std::array<char, 4096> piece{};
    while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe))
        out.append(piece.data(), count);
    ::pclose(pipe);
    return out;
}

TEST(InjectLibrary, ExportsItsEntryPointsAlone) {
    const std::string symbols = outputOf("nm -D --defined-only --format=posix '" BUBBLESCOPE_TEST_LIBRARY "' 2>&1");
    std::vector<std::string> names;
    std::istringstream lines(symbols);
    for (std::string line; std::getline(lines, line);)
        names.push_back(line.substr(0, line.find(' ')));
    if (names.empty() || symbols.find("not found") != std::string::npos) GTEST_SKIP() << "nm is not installed";
    EXPECT_THAT(names, UnorderedElementsAre("InitializeInjection", "InitializeInjectionNvtx2",
                                            "InitializeInjectionNvtxExtension", "ncclProfiler_v1", "ncclProfiler_v2",
                                            "ncclProfiler_v3", "ncclProfiler_v4", "ncclProfiler_v5",
                                            "bubblescope_recording", "bubblescope_push", "bubblescope_push_bytes",
                                            "bubblescope_pop", "bubblescope_mark", "bubblescope_state",
                                            "bubblescope_message", "bubblescope_checks", "bubblescope_event",
                                            "bubblescope_step_values", "bubblescope_release_cupti"));
}

/// The versions of the C library's symbols that the library was linked to, which older systems must have.
TEST(InjectLibrary, RunsOnGlibcOf2018) {
    const std::string symbols = outputOf("readelf -V '" BUBBLESCOPE_TEST_LIBRARY "' 2>&1");
    if (symbols.find("Name: GLIBC_") == std::string::npos) GTEST_SKIP() << "readelf is not installed";
    std::istringstream words(symbols);
    for (std::string word; words >> word;) {
        EXPECT_FALSE(word.starts_with("GLIBCXX_") || word.starts_with("CXXABI_")) << word;
        const std::size_t at = word.find("GLIBC_2.");
        if (at != 0) continue;
        EXPECT_LE(std::stoi(word.substr(std::string_view("GLIBC_2.").size())), 28) << word;
    }
    EXPECT_THAT(outputOf("readelf -d '" BUBBLESCOPE_TEST_LIBRARY "' 2>&1"), HasSubstr("NODELETE"));
}

TEST(InjectLibrary, NeedsLibcAlone) {
    const std::string dynamic = outputOf("readelf -d '" BUBBLESCOPE_TEST_LIBRARY "' 2>&1");
    if (dynamic.find("NEEDED") == std::string::npos) GTEST_SKIP() << "readelf is not installed";
    std::istringstream lines(dynamic);
    for (std::string line; std::getline(lines, line);) {
        if (line.find("NEEDED") == std::string::npos) continue;
        const std::string name = line.substr(line.find('[') + 1);
        const bool of_libc = name.starts_with("libc.so") || name.starts_with("libm.so") ||
                             name.starts_with("libdl.so") || name.starts_with("libpthread.so") ||
                             name.starts_with("librt.so") || name.starts_with("ld-linux");
        EXPECT_TRUE(of_libc) << line;
    }
}

} // namespace
} // namespace bubblescope::test
