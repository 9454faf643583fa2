#include "tests/cli/program.h"

#include "core/recognise/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

// A run and a monitor that watches it, each a process of its own.
namespace bubblescope::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A program that runs beside the test; killed at the end of its life if it still does.
class Beside {
public:
    Beside(const std::vector<std::string>& words, const std::string& out) {
        child_ = ::fork();
        if (child_ != 0) return;
        if (std::freopen(out.c_str(), "w", stdout) == nullptr || std::freopen("/dev/null", "w", stderr) == nullptr)
            ::_exit(1);
        std::vector<std::string> texts = words;
        texts.insert(texts.begin(), BUBBLESCOPE_PROGRAM);
        std::vector<char*> arguments;
        for (std::string& text : texts)
            arguments.push_back(text.data());
        arguments.push_back(nullptr);
        ::execv(arguments[0], arguments.data());
        ::_exit(1);
    }
    ~Beside() {
        if (child_ <= 0) return;
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

    void signal(int number) const { ::kill(child_, number); }
    int wait() {
        int status = 0;
        ::waitpid(child_, &status, 0);
        child_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t child_ = 0;
};

std::vector<json> documents(const std::string& file) {
    std::vector<json> all;
    std::istringstream lines(readAll(file));
    for (std::string line; std::getline(lines, line);) {
        all.push_back(json::parse(line, nullptr, false));
        EXPECT_FALSE(all.back().is_discarded()) << line;
    }
    return all;
}

std::vector<json> ofKind(const std::vector<json>& all, const std::string& kind) {
    std::vector<json> chosen;
    std::ranges::copy_if(all, std::back_inserter(chosen), [&](const json& one) { return one["event"] == kind; });
    return chosen;
}

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

TEST(Monitor, SaysWhatIsWrongWithTheLine) {
    EXPECT_EQ(runProgram({"monitor"}).exit_code, 2);
    EXPECT_EQ(runProgram({"monitor", ".", "--metrics", "nowhere:port"}).exit_code, 2);
    EXPECT_EQ(runProgram({"monitor", ".", "--patience", "long"}).exit_code, 2);
    const ProgramResult missing = runProgram({"monitor", "/no/such/place/at/all"});
    EXPECT_EQ(missing.exit_code, 3);
    EXPECT_THAT(missing.err, HasSubstr("/no/such/place/at/all"));
}

} // namespace
} // namespace bubblescope::test
