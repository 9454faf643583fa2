#include "core/report/text.h"
#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"

#include <gmock/gmock.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace bubblescope::test {
namespace {

/// A terminal that a program runs in.
struct TestTerminal {
    int columns = 80;
    int lines = 24;
    std::vector<std::string> variables; ///< "NAME=VALUE"
};

/// Whether this machine makes terminals: a bare root without /dev/pts does not.
bool terminalsAreThere() {
    int master = -1;
    int slave = -1;
    if (openpty(&master, &slave, nullptr, nullptr, nullptr) != 0) return false;
    close(master);
    close(slave);
    return true;
}

/// Runs the built `bubblescope` in a terminal of its own until it ends. `out` is all that the terminal received, from
/// both its outputs, with plain line ends.
ProgramResult runInTerminal(const TestTerminal& terminal, const std::vector<std::string>& arguments) {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(terminal.columns);
    size.ws_row = static_cast<unsigned short>(terminal.lines);
    std::vector<std::string> words{BUBBLESCOPE_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables = terminal.variables;
    variables.insert(variables.end(), {// the first of a name holds
                                       "PATH=/usr/bin:/bin", "HOME=/nonexistent", "TERM=xterm"});
    const auto pointers = [](std::vector<std::string>& texts) {
        std::vector<char*> list;
        for (std::string& text : texts)
            list.push_back(text.data());
        list.push_back(nullptr);
        return list;
    };
    const std::vector<char*> argv = pointers(words);
    const std::vector<char*> environment = pointers(variables);
    int master = -1;
    const pid_t child = forkpty(&master, nullptr, nullptr, &size);
    if (child == 0) {
        execve(argv.front(), argv.data(), environment.data());
        _exit(127);
    }
    ProgramResult result;
    std::array<char, 4096> buffer{};
    for (ssize_t read_bytes = 0; (read_bytes = read(master, buffer.data(), buffer.size())) > 0;)
        result.out.append(buffer.data(), static_cast<std::size_t>(read_bytes));
    int status = 0;
    waitpid(child, &status, 0);
    close(master);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    for (auto at = result.out.find("\r\n"); at != std::string::npos; at = result.out.find("\r\n", at))
        result.out.erase(at, 1);
    return result;
}

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::size_t widest(const std::string& text) {
    std::size_t width = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        width = std::max(width, report::characters(line));
    return width;
}

/// A made-up trace with a finding.
class MadeUpTrace : public testing::Test {
protected:
    ScratchFolder scratch;
    std::string trace = scratch.file("slow.pftrace");

    void SetUp() override { ASSERT_EQ(runProgram({"demo", "slow-last-stage", "--out", trace}).exit_code, 0); }
};

class TerminalsOutside : public MadeUpTrace {
protected:
    void SetUp() override {
        if (!terminalsAreThere()) GTEST_SKIP() << "no terminals: /dev/pts is missing";
        MadeUpTrace::SetUp();
    }
};

TEST_F(TerminalsOutside, ChartsAreNoWiderUnlessAsked) {
    const std::vector<std::string> chart{"schedule", "--schedule", "1f1b", "--pp", "4", "--microbatches", "24"};
    const ProgramResult narrow = runInTerminal({72, 60, {}}, chart);
    EXPECT_EQ(narrow.exit_code, 0);
    EXPECT_LE(widest(narrow.out), 72U) << narrow.out;
    EXPECT_THAT(narrow.out, HasSubstr("--wide prints all columns"));
    std::vector<std::string> wide = chart;
    wide.emplace_back("--wide");
    EXPECT_GT(widest(runInTerminal({72, 60, {}}, wide).out), 150U);
    EXPECT_GT(widest(runProgram(chart).out), 150U) << "a file gets all";
}

TEST_F(TerminalsOutside, SentencesKeepToTheWidth) {
    const ProgramResult summary = runInTerminal({60, 60, {"NO_COLOR=1"}}, {"analyze", trace, "--summary"});
    EXPECT_EQ(summary.exit_code, 0);
    const ProgramResult help = runInTerminal({60, 60, {}}, {"help", "simulate"});
    EXPECT_THAT(help.out, HasSubstr("--schedule NAME"));
    const ProgramResult error =
        runInTerminal({60, 60, {"NO_COLOR=1"}}, {"simulate", "--schedule", "zbvv", "--pp", "4", "--microbatches", "8"});
    EXPECT_EQ(error.exit_code, 2);
    EXPECT_LE(widest(error.out), 60U) << error.out;
    EXPECT_THAT(error.out, AllOf(HasSubstr("unknown schedule 'zbvv'\n"), HasSubstr("  -> did you mean 'zb-v'?")));
    EXPECT_LE(widest(runInTerminal({0, 0, {"COLUMNS=60", "NO_COLOR=1"}}, {"simulate", "--schedule", "zbvv"}).out), 60U)
        << "COLUMNS";
}

TEST_F(TerminalsOutside, ColoursOnlyWhereTheyAreWanted) {
    const std::vector<std::string> analyze{"analyze", trace, "--no-pager"};
    const std::string bold = "\x1b[1m";
    EXPECT_THAT(runInTerminal({}, analyze).out, HasSubstr(bold));
    EXPECT_THAT(runInTerminal({80, 24, {"NO_COLOR=1"}}, analyze).out, Not(HasSubstr(bold)));
    EXPECT_THAT(runInTerminal({80, 24, {"TERM=dumb"}}, analyze).out, Not(HasSubstr(bold)));
    EXPECT_THAT(runProgram(analyze).out, Not(HasSubstr("\x1b")));
    std::vector<std::string> asked = analyze;
    asked.emplace_back("--color=always");
    EXPECT_THAT(runProgram(asked).out, HasSubstr(bold));
    asked.back() = "--color=never";
    EXPECT_THAT(runInTerminal({}, asked).out, Not(HasSubstr(bold)));
    asked.emplace_back("--json");
    EXPECT_THAT(runInTerminal({}, asked).out, Not(HasSubstr("\x1b")));
}

TEST_F(MadeUpTrace, NamesInTracesCannotUseTheTerminal) {
    const std::string file =
        scratch
            .write(
                "evil.json",
                R"({"traceEvents":[{"ph":"X","name":"\u001b]0;owned\u0007","pid":"\u001b[8mhidden","tid":1,"ts":1,"dur":5}]})")
            .string();
    const ProgramResult info = runProgram({"info", file, "--color=always"});
    EXPECT_THAT(info.out, AllOf(Not(HasSubstr("\x1b]0")), Not(HasSubstr("\x1b[8m"))));
}

TEST_F(TerminalsOutside, LongReportsGoThroughThePager) {
    const std::string marks = "PAGER=sed s/^/PAGED:/";
    EXPECT_THAT(runInTerminal({80, 24, {marks}}, {"analyze", trace}).out, HasSubstr("PAGED:"));
    EXPECT_THAT(runInTerminal({80, 500, {marks}}, {"analyze", trace}).out, Not(HasSubstr("PAGED:"))) << "it fits";
    EXPECT_THAT(runInTerminal({80, 24, {marks}}, {"analyze", trace, "--no-pager"}).out, Not(HasSubstr("PAGED:")));
    EXPECT_THAT(runInTerminal({80, 24, {marks}}, {"analyze", trace, "--json"}).out, Not(HasSubstr("PAGED:")));
    EXPECT_THAT(runInTerminal({80, 24, {}}, {"analyze", trace, "--pager", "sed s/^/OWN:/"}).out, HasSubstr("OWN:"));
    const ProgramResult none = runInTerminal({80, 24, {"PAGER=/nonexistent/pager"}}, {"analyze", trace});
    EXPECT_EQ(none.exit_code, 0);
    EXPECT_THAT(none.out, HasSubstr("slow"));
    const ProgramResult left = runInTerminal({80, 24, {"PAGER=head -n 1"}}, {"analyze", trace, "--fail-on", "any"});
    EXPECT_EQ(left.exit_code, 1) << "a pager that is left early changes no exit code";
}

TEST_F(TerminalsOutside, WorkOverASecondShowsItsProgress) {
    const std::vector<std::string> run{"run", "--schedule", "1f1b", "--pp",       "2",     "--microbatches",
                                       "4",   "--forward",  "60ms", "--backward", "120ms", "--steps",
                                       "4"};
    const ProgramResult shown = runInTerminal({100, 200, {"NO_COLOR=1"}}, run);
    EXPECT_EQ(shown.exit_code, 0) << shown.out;
    EXPECT_THAT(shown.out, testing::ContainsRegex("Running: [0-9]+ of [0-9]+ ops, [0-9]+ ops/s"));
    EXPECT_THAT(shown.out, HasSubstr("\r\x1b[K")) << "nothing is left behind";
    EXPECT_THAT(runProgram(run).err, Not(HasSubstr("Running")));
}

TEST(ConfigurationOutside, GivesDefaultsAndIsShown) {
    if (!terminalsAreThere()) GTEST_SKIP() << "no terminals: /dev/pts is missing";
    const ScratchFolder scratch;
    const std::string trace = scratch.file("slow.pftrace");
    ASSERT_EQ(runProgram({"demo", "slow-last-stage", "--out", trace}).exit_code, 0);
    std::ofstream(scratch.file("config")) << "[analyze]\nmax-step = 1ms\n[thresholds]\ncost.least = 0.5\n";
    const std::string file = "BUBBLESCOPE_CONFIG=" + scratch.file("config");
    EXPECT_EQ(runInTerminal({80, 500, {file}}, {"analyze", trace}).exit_code, 1) << "over the budget of the file";
    EXPECT_EQ(runInTerminal({80, 500, {file}}, {"analyze", trace, "--max-step=100s"}).exit_code, 0);
    const std::string shown = runInTerminal({200, 500, {file}}, {"config"}).out;
    EXPECT_THAT(shown, testing::ContainsRegex("cost.least +0.5 +[^ ]*config:4"));
    EXPECT_THAT(shown, testing::ContainsRegex("max-step +1ms +[^ ]*config:2"));
    std::ofstream(scratch.file("config")) << "[analyze]\nmax-step = soon\n";
    const ProgramResult bad = runInTerminal({200, 500, {file}}, {"analyze", trace});
    EXPECT_EQ(bad.exit_code, 2);
    EXPECT_THAT(bad.out, AllOf(HasSubstr("config:2"), HasSubstr("'soon' is not a time")));
    std::ofstream(scratch.file("config")) << "[analyse]\n";
    EXPECT_EQ(runInTerminal({200, 500, {file}}, {"analyze", trace}).exit_code, 3);
}

TEST(Names, OfSchedulesAndTimesAreTakenAsPeopleWriteThem) {
    const auto makespan = [](const std::string& schedule, const std::string& forward) {
        const ProgramResult result = runProgram({"simulate", "--schedule", schedule, "--pp", "4", "--microbatches", "8",
                                                 "--vpp", "2", "--forward", forward, "--json"});
        EXPECT_EQ(result.exit_code, 0) << schedule << forward << result.err;
        return result.exit_code == 0 ? result.json().at("makespan_ns").get<std::int64_t>() : 0;
    };
    const std::int64_t zbv = makespan("zb-v", "5ms");
    for (const char* name : {"zbv", "ZB_V", "ZBVZeroBubble", "ScheduleZBVZeroBubble"})
        EXPECT_EQ(makespan(name, "5ms"), zbv) << name;
    for (const char* time : {"5 ms", "5000us", "5000µs", "0.005s", " 5ms "})
        EXPECT_EQ(makespan("zb-v", time), zbv) << time;
    EXPECT_EQ(makespan("Interleaved1F1B", "5ms"), makespan("interleaved", "5ms"));
    const ProgramResult bare =
        runProgram({"simulate", "--schedule", "1F1B", "--pp", "4", "--microbatches", "8", "--forward", "5"});
    EXPECT_EQ(bare.exit_code, 2);
    EXPECT_THAT(bare.err, HasSubstr("ns, us, ms or s"));
}

TEST(Demos, AreListedAndWritten) {
    const ProgramResult list = runProgram({"demo"});
    EXPECT_EQ(list.exit_code, 0);
    EXPECT_THAT(list.out, AllOf(HasSubstr("balanced"), HasSubstr("slow-last-stage"), HasSubstr("checked-zb-h1")));
    const ProgramResult wrong = runProgram({"demo", "slow-last-stag"});
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("did you mean 'slow-last-stage'?"));
}

TEST(Presets, NeedNoFile) {
    const ProgramResult memory = runProgram({"memory", "--preset", "llama3-8b", "--tp", "2", "--schedule", "1f1b",
                                             "--pp", "4", "--microbatches", "8", "--json"});
    EXPECT_EQ(memory.exit_code, 0) << memory.err;
    EXPECT_EQ(memory.json().at("ranks").size(), 4U);
    const ProgramResult overlap =
        runProgram({"overlap", "--preset", "llama3-70b", "--pp", "4", "--microbatches", "16"});
    EXPECT_EQ(overlap.exit_code, 0) << overlap.err;
    EXPECT_THAT(
        runProgram({"memory", "--preset", "lama3-8b", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8"}).err,
        HasSubstr("did you mean 'llama3-8b'?"));
    EXPECT_EQ(runProgram({"memory", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8"}).exit_code, 2);
}

TEST(Presets, RunScalesDownWhatNoRunHolds) {
    const std::vector<std::string> line{"run",       "--schedule", "1f1b", "--pp",    "4", "--microbatches",
                                        "4",         "--steps",    "1",    "--batch", "1", "--preset",
                                        "llama3-8b", "--json"};
    const ProgramResult run = runProgram(line);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(
        run.err,
        HasSubstr("llama3-8b is scaled down to a GPT with its 32 layers and 1/64 of its width and sequence length "
                  "(64 features, 4 heads, 128 bytes of text)"));
    EXPECT_FALSE(run.json().empty());
    const ProgramResult wrong =
        runProgram({"run", "--schedule", "1f1b", "--pp", "4", "--microbatches", "4", "--preset", "lama3-8b"});
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_THAT(wrong.err, AllOf(HasSubstr("did you mean 'llama3-8b'?"), HasSubstr("tiny"), HasSubstr("gpt3-175b")));
}

TEST(ManualPages, AreWrittenForEveryCommand) {
    const ScratchFolder scratch;
    const std::string folder = scratch.file("man");
    EXPECT_EQ(runProgram({"help", "--man-pages", folder}).exit_code, 0);
    EXPECT_THAT(readAll(folder + "/bubblescope.1"), HasSubstr(".TH"));
    EXPECT_THAT(readAll(folder + "/bubblescope-aadiff-plan.1"), HasSubstr("aadiff plan"));
    EXPECT_THAT(runProgram({"help", "aadiff", "plan"}).out, HasSubstr("Usage: bubblescope aadiff plan"));
    EXPECT_THAT(runProgram({"help", "analise"}).err, HasSubstr("did you mean 'analyze'?"));
}

} // namespace
} // namespace bubblescope::test
