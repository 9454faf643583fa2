#include "tests/cli/beside.h"
#include "tests/cli/program.h"

#include "core/recognise/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// A run and a monitor that watches it, each in a separate process.
namespace bubblescope::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::vector<std::string> kRun{"run", "--schedule", "1f1b", "--pp",       "4",  "--microbatches",
                                    "8",   "--forward",  "2ms",  "--backward", "4ms"};

std::vector<std::string> runWith(const std::vector<std::string>& more) {
    std::vector<std::string> words = kRun;
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST(Monitor, HearsEveryRecordOfARunBesideIt) {
    const ScratchFolder scratch;
    const std::string traces = scratch.file("traces");
    Beside monitor({"monitor", traces}, scratch.file("lines"));
    const ProgramResult run = runProgram(runWith({"--steps", "12", "--out", traces, "--json"}));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(monitor.wait(), 0) << "it ends with the run";

    const auto all = documents(scratch.file("lines"));
    ASSERT_FALSE(all.empty());
    for (const json& line : all)
        EXPECT_EQ(line["schema_version"], 1) << line;
    EXPECT_EQ(all.front()["event"], "run");
    EXPECT_EQ(all.front()["pp"], 4);
    const auto steps = ofKind(all, "step");
    const json analysis = run.json();
    ASSERT_EQ(steps.size(), 12U);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i]["step"], i);
        EXPECT_TRUE(steps[i]["complete"].get<bool>()) << steps[i];
        EXPECT_EQ(steps[i]["wall_ns"], analysis["steps"][i]["wall_ns"]);
    }
    const json& end = all.back();
    EXPECT_EQ(end["event"], "end");
    EXPECT_EQ(end["counts"]["slices"], analysis["trace"]["slices"]) << "no record is lost";
    for (const char* const lost : {"unheard", "dropped", "damaged", "torn", "late", "bad", "duplicates"})
        EXPECT_EQ(end["counts"][lost], 0) << lost;
    EXPECT_EQ(end["incomplete"], 0);
}

TEST(Monitor, FlagsARankThatBecomesSlowWhileTheRunGoesOn) {
    const ScratchFolder scratch;
    const std::string traces = scratch.file("traces");
    const std::string alerts = scratch.file("alerts");
    Beside monitor({"monitor", traces, "--alert", "echo $BUBBLESCOPE_KIND $BUBBLESCOPE_RANK >>" + alerts, "--fail-on",
                    "straggler"},
                   scratch.file("lines"));
    const ProgramResult run =
        runProgram(runWith({"--steps", "16", "--out", traces, "--inject", "slow:rank=2,factor=1.5,from=10"}));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(monitor.wait(), 1) << "what --fail-on asks for";
    const auto found = ofKind(documents(scratch.file("lines")), "anomaly");
    const auto straggler =
        std::ranges::find_if(found, [](const json& one) { return one["kind"] == "straggler" && one["rank"] == 2; });
    ASSERT_NE(straggler, found.end());
    EXPECT_GE((*straggler)["found_at"], 10);
    EXPECT_LE((*straggler)["found_at"], 12) << "within three steps";
    EXPECT_THAT(readAll(alerts), HasSubstr("straggler 2"));
}

TEST(Monitor, StopsWhenToldAndSaysWhatItSaw) {
    const ScratchFolder scratch;
    Beside monitor({"monitor", scratch.file("traces")}, scratch.file("lines"));
    const ProgramResult run = runProgram(runWith({"--steps", "2", "--out", scratch.file("other")}));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    monitor.signal(SIGTERM);
    EXPECT_EQ(monitor.wait(), 0);
    const auto all = documents(scratch.file("lines"));
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0]["event"], "end");
    EXPECT_FALSE(all[0]["run_ended"].get<bool>());
}

TEST(Monitor, SeesARunEndThatWasAskedTo) {
    const ScratchFolder scratch;
    const std::string traces = scratch.file("traces");
    Beside run(runWith({"--steps", "100000", "--out", traces}), scratch.file("text"));
    EXPECT_EQ(runProgram({"monitor", traces, "--steps", "2"}).exit_code, 0);
    run.signal(SIGTERM);
    EXPECT_EQ(run.said("bubblescope: the run ends"), " with this step; press again to stop at once");
    EXPECT_EQ(run.wait(), 0);
    EXPECT_THAT(readAll(scratch.file("text")), HasSubstr("Trace written to")) << "what it ran is analysed";
    const ProgramResult watched = runProgram({"monitor", traces, "--json"});
    EXPECT_EQ(watched.exit_code, 0) << "its ranks have ended, and none is gone: " << watched.err;
    EXPECT_THAT(watched.out, HasSubstr(R"("incomplete":0)"));
}

TEST(Monitor, ReadsARunThatIsOver) {
    const ScratchFolder scratch;
    const std::string traces = scratch.file("traces");
    ASSERT_EQ(runProgram(runWith({"--steps", "3", "--out", traces})).exit_code, 0);
    const ProgramResult watched = runProgram({"monitor", traces, "--json"});
    EXPECT_EQ(watched.exit_code, 0) << watched.err;
    EXPECT_THAT(watched.out, HasSubstr(R"("event":"run_ended")"));
    const ProgramResult some = runProgram({"monitor", traces, "--steps", "2"});
    EXPECT_EQ(some.exit_code, 0) << some.err;
}

TEST(Monitor, HearsOfARunOverTheNetwork) {
    const ScratchFolder scratch;
    const std::string traces = scratch.file("traces");
    const std::string token = scratch.writeSecret("token", "only we know\n");
    ASSERT_EQ(runProgram(runWith({"--steps", "3", "--out", traces})).exit_code, 0);
    Beside collector({"monitor", "--listen", "0", "--token-file", token}, scratch.file("lines"));
    const std::string address = collector.said("Listening on ");
    ASSERT_THAT(address, testing::StartsWith("127.0.0.1:")) << "nobody outside, unless told so";
    const std::string guess = scratch.writeSecret("guess", "password\n");
    const ProgramResult refused = runProgram({"monitor", traces, "--forward", address, "--token-file", guess});
    EXPECT_EQ(refused.exit_code, 4);
    EXPECT_THAT(refused.err, HasSubstr("token"));
    const ProgramResult sent = runProgram({"monitor", traces, "--forward", address, "--token-file", token});
    EXPECT_EQ(sent.exit_code, 0) << sent.err;
    EXPECT_EQ(collector.wait(), 0);
    const auto all = documents(scratch.file("lines"));
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.back()["steps"], 3);
    EXPECT_EQ(all.back()["incomplete"], 0);
    EXPECT_EQ(all.back()["counts"]["unheard"], 0);
}

TEST(Monitor, GivesUpRanksWhoseFilesLackOrAreDamaged) {
    const ScratchFolder scratch;
    const std::string traces = scratch.file("traces");
    ASSERT_EQ(runProgram(runWith({"--steps", "2", "--out", traces})).exit_code, 0);
    const std::string file = traces + "/rank1.pftrace";
    const auto monitored = [&] { return runProgram({"monitor", traces, "--patience", "300ms", "--json"}); };
    const auto expectGone = [](const ProgramResult& watched) {
        EXPECT_EQ(watched.exit_code, 4) << watched.err;
        EXPECT_THAT(watched.out, HasSubstr(R"("event":"run_ended")"));
        EXPECT_THAT(watched.out, HasSubstr("none of its records could be read"));
    };
    const std::string bytes = readAll(file);
    std::filesystem::remove(file);
    expectGone(monitored());
    std::ofstream(file, std::ios::binary).flush();
    const ProgramResult of_empty = monitored();
    expectGone(of_empty);
    EXPECT_THAT(of_empty.err, HasSubstr("rank1.pftrace"));
    std::ofstream(file, std::ios::binary) << std::string(bytes.size() / 2, '\0') + bytes.substr(bytes.size() / 2);
    expectGone(monitored());
}

TEST(Monitor, EndsWhereThereIsNothingToWaitFor) {
    const ScratchFolder scratch;
    const ProgramResult of_none = runProgram({"monitor", scratch.file("nosuch"), "--patience", "200ms"});
    EXPECT_EQ(of_none.exit_code, 3);
    EXPECT_THAT(of_none.err, HasSubstr("nosuch"));
    std::ofstream(scratch.path() / "rank0.pftrace").flush();
    const ProgramResult of_empty = runProgram({"monitor", scratch.path().string(), "--patience", "200ms"});
    EXPECT_EQ(of_empty.exit_code, 3);
    EXPECT_THAT(of_empty.err, HasSubstr("rank0.pftrace"));
}

TEST(Monitor, SaysWhatIsWrongWithTheLine) {
    EXPECT_EQ(runProgram({"monitor"}).exit_code, 2);
    ::unsetenv("BUBBLESCOPE_TOKEN");
    EXPECT_EQ(runProgram({"monitor", "--listen", "0"}).exit_code, 2) << "without a token";
    EXPECT_EQ(runProgram({"monitor", ".", "--forward", "1", "--listen", "2"}).exit_code, 2);
    EXPECT_EQ(runProgram({"monitor", "--listen", "0", "--certificate", "alone.pem"}).exit_code, 2);
    EXPECT_EQ(runProgram({"monitor", ".", "--metrics", "nowhere:port"}).exit_code, 2);
    EXPECT_EQ(runProgram({"monitor", ".", "--patience", "long"}).exit_code, 2);
    const ProgramResult missing = runProgram({"monitor", "/no/such/place/at/all"});
    EXPECT_EQ(missing.exit_code, 3);
    EXPECT_THAT(missing.err, HasSubstr("/no/such/place/at/all"));
}

TEST(Monitor, BudgetsAreOfTheTypicalStep) {
    const ScratchFolder scratch;
    const std::string traces = scratch.file("traces");
    ASSERT_EQ(runProgram(runWith({"--steps", "6", "--out", traces})).exit_code, 0); // 66 ms per step
    EXPECT_EQ(runProgram({"monitor", traces, "--max-step", "10s", "--max-bubble", "99%"}).exit_code, 0);
    const ProgramResult over = runProgram({"monitor", traces, "--max-step", "60ms"});
    EXPECT_EQ(over.exit_code, 1);
    EXPECT_THAT(over.err, HasSubstr("more than --max-step 60.0 ms"));
    EXPECT_EQ(over.err.find("over budget", over.err.find("over budget") + 1), std::string::npos) << "told once";
    EXPECT_EQ(runProgram({"monitor", traces, "--max-bubble", "1"}).exit_code, 1);
    EXPECT_EQ(runProgram({"monitor", traces, "--max-bubble", "much"}).exit_code, 2);
}

} // namespace
} // namespace bubblescope::test
