// `mpirun -n N bubblescope run` against the same run with threads.

#include "core/recognise/run.h"
#include "tests/support/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct Outcome {
    int exit_code = -1;
    std::string out;
    std::string err;
};

std::string readAll(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

Outcome shell(const std::string& command) {
    const test::ScratchFolder scratch;
    const std::string line = command + " >" + scratch.file("out") + " 2>" + scratch.file("err") + " </dev/null";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, readAll(scratch.file("out")), readAll(scratch.file("err"))};
}

/// More processes than cores, and root in a container: for Open MPI 4 and 5. No search for displays.
const bool kEnvironmentSet = [] {
    for (const auto& [name, value] : {std::pair{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                      {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                      {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
                                      {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
                                      {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                      {"HWLOC_COMPONENTS", "-gl"},
                                      {"ASAN_OPTIONS", "detect_leaks=0"}})
        ::setenv(name, value, 1);
    return true;
}();

const std::string kProgram = BUBBLESCOPE_PROGRAM;
const std::string kMpirun = std::string(BUBBLESCOPE_MPIRUN) + " -n 4 ";
const std::string kRun = " run --schedule 1f1b --pp 4 --microbatches 6 --forward 1ms --backward 2ms --steps 3 ";

TEST(RunUnderMpi, SaysWhatARunWithThreadsSays) {
    const test::ScratchFolder scratch;
    const Outcome processes = shell(kMpirun + kProgram + kRun + "--json --out " + scratch.file("traces"));
    ASSERT_EQ(processes.exit_code, 0) << processes.err;
    const Outcome threads = shell(kProgram + kRun + "--json --no-pace");
    ASSERT_EQ(threads.exit_code, 0) << threads.err;
    const auto one = nlohmann::json::parse(processes.out, nullptr, false);
    const auto other = nlohmann::json::parse(threads.out, nullptr, false);
    ASSERT_FALSE(one.is_discarded()) << "one document, not one of each process: " << processes.out;
    for (const char* const key : {"losses", "weights_digest", "ops"})
        EXPECT_EQ(one["training"][key], other["training"][key]) << key;
    EXPECT_EQ(one["training"]["peak_memory"].size(), 4U);
    EXPECT_EQ(one["steps"].size(), 3U);
    EXPECT_EQ(one["trace"]["files"].size(), 4U);

    JobControl control;
    const auto loaded = loadRun({scratch.path() / "traces"}, control);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    EXPECT_EQ(loaded.value().steps.size(), 3U);
    EXPECT_TRUE(loaded.value().problems.empty());
}

TEST(RunUnderMpi, ComparesSchedules) {
    const Outcome outcome =
        shell(kMpirun + kProgram + " run --compare 1f1b,zb-h1 --pp 4 --microbatches 4 --steps 1 --no-pace --json");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto document = nlohmann::json::parse(outcome.out, nullptr, false);
    ASSERT_FALSE(document.is_discarded()) << outcome.out;
    ASSERT_EQ(document["schedules"].size(), 2U);
    EXPECT_EQ(document["schedules"][0]["run"]["training"]["weights_digest"],
              document["schedules"][1]["run"]["training"]["weights_digest"]);
}

TEST(RunUnderMpi, NeedsAsManyProcessesAsRanks) {
    const Outcome outcome = shell(kMpirun + kProgram + " run --schedule 1f1b --pp 3 --microbatches 4 --no-pace");
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("4 processes, but the run has 3 ranks"));
    EXPECT_THAT(outcome.err, HasSubstr("start 3 processes"));
}

TEST(RunUnderMpi, TellsOfWrongUsageOnce) {
    const Outcome outcome = shell(kMpirun + kProgram + kRun + "--inject slow:rank=9,factor=2");
    EXPECT_EQ(outcome.exit_code, 2);
    const std::size_t first = outcome.err.find("there is no rank 9");
    ASSERT_NE(first, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("there is no rank 9", first + 1), std::string::npos) << outcome.err;
}

TEST(RunUnderMpi, AHangingRankIsNamedByAllAndTheTraceUntilThenCanBeRead) {
    const test::ScratchFolder scratch;
    const Outcome outcome = shell(kMpirun + kProgram + kRun + "--inject hang:rank=2,step=2,op=B1 --timeout 2s --out " +
                                  scratch.file("traces"));
    EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
    std::size_t told = 0;
    for (std::size_t at = 0;
         (at = outcome.err.find("rank 2 hangs: it has been in B1.0 of step 2", at)) != std::string::npos; ++at)
        ++told;
    EXPECT_EQ(told, 4U) << outcome.err;
    JobControl control;
    const auto loaded = loadRun({scratch.path() / "traces"}, control);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    EXPECT_EQ(loaded.value().steps.size(), 2U) << "the whole ones";
    EXPECT_EQ(loaded.value().info.value().faults, "hang:rank=2,step=2,op=B1");
}

/// With --enable-recovery Open MPI lets the others live; other launchers do not know the option.
TEST(RunUnderMpi, AKilledProcessIsNamedByTheOthers) {
    const Outcome version = shell(std::string(BUBBLESCOPE_MPIRUN) + " --version");
    // mpirun calls itself Open MPI, mpiexec OpenRTE.
    if (version.out.find("(Open MPI) 4") == std::string::npos && version.out.find("(OpenRTE) 4") == std::string::npos)
        GTEST_SKIP() << "needs Open MPI 4: " << version.out;
    const test::ScratchFolder scratch;
    const Outcome outcome = shell(std::string(BUBBLESCOPE_MPIRUN) + " --enable-recovery -n 4 " + kProgram + kRun +
                                  "--inject die:rank=3,step=1,op=F2 --timeout 2s --out " + scratch.file("traces"));
    for (const char* const rank : {"rank 0: ", "rank 1: ", "rank 2: "})
        EXPECT_THAT(outcome.err, ContainsRegex(std::string(rank) +
                                               "no message from rank 3 for [0-9.]+ s; it was in F2.0 of step 1"));
    JobControl control;
    const auto loaded = loadRun({scratch.path() / "traces"}, control);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    EXPECT_GE(loaded.value().steps.size(), 1U);
}

std::vector<nlohmann::json> linesOf(const std::string& file) {
    std::vector<nlohmann::json> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        lines.push_back(nlohmann::json::parse(line, nullptr, false));
    return lines;
}

/// A monitor in another process, while four processes train; the shell waits for both. Processes may take long to
/// begin.
Outcome watched(const std::string& run, const test::ScratchFolder& scratch) {
    const std::string monitor =
        kProgram + " monitor --patience 120s " + scratch.file("traces") + " >" + scratch.file("lines");
    return shell("{ " + monitor + " & " + run + " --out " + scratch.file("traces") + "; wait $!; }");
}

TEST(RunUnderMpi, IsHeardWholeByAMonitorBesideIt) {
    const test::ScratchFolder scratch;
    const Outcome outcome = watched(kMpirun + kProgram + kRun + "--json", scratch);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto analysis = nlohmann::json::parse(outcome.out, nullptr, false);
    ASSERT_FALSE(analysis.is_discarded()) << outcome.out;
    const auto lines = linesOf(scratch.file("lines"));
    ASSERT_FALSE(lines.empty());
    const auto& end = lines.back();
    EXPECT_EQ(end["steps"], 3);
    EXPECT_EQ(end["incomplete"], 0);
    EXPECT_EQ(end["counts"]["slices"], analysis["trace"]["slices"]);
    EXPECT_EQ(end["counts"]["unheard"], 0);
    for (const auto& rank : end["ranks"])
        EXPECT_EQ(rank["state"], "ended") << rank;
}

TEST(RunUnderMpi, AMonitorSaysWhichRankWasKilled) {
    const test::ScratchFolder scratch;
    // Long enough for the monitor to know all processes before one ends.
    const std::string run = " run --schedule 1f1b --pp 4 --microbatches 6 --forward 30ms --backward 60ms --steps 3 ";
    const Outcome outcome = watched(kMpirun + kProgram + run + "--inject die:rank=2,step=2,op=F2", scratch);
    EXPECT_EQ(outcome.exit_code, 4) << "the monitor's: a run that failed";
    std::vector<int> gone;
    for (const auto& line : linesOf(scratch.file("lines"))) {
        if (line["event"] == "rank" && line["state"] == "gone") gone.push_back(line["rank"]);
    }
    // mpirun ends the others as soon as it sees the first; the monitor sees them in that order.
    ASSERT_FALSE(gone.empty());
    EXPECT_EQ(gone.front(), 2);
    JobControl control;
    const auto loaded = loadRun({scratch.path() / "traces" / "rank2.pftrace"}, control);
    EXPECT_FALSE(loaded.ok()) << "one rank of four is not a pipeline";
    const auto all = loadRun({scratch.path() / "traces"}, control);
    ASSERT_TRUE(all.ok()) << all.error().text();
    EXPECT_EQ(all.value().steps.size(), 2U) << "the whole ones";
    EXPECT_TRUE(std::ranges::none_of(all.value().problems, [](const Diagnostic& problem) {
        return problem.kind == "truncated" || problem.kind == "corrupt";
    }));
}

} // namespace
} // namespace bubblescope
