#include "app/cli/completion.h"
#include "app/cli/help.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/cli/whole_line.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace bubblescope::cli::test {
namespace {

using bubblescope::test::readAll;
using bubblescope::test::ScratchFolder;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

void writeFile(const std::string& file, const std::string& text) {
    std::ofstream stream(file);
    stream << text;
}

/// The completions of bash for the last word of a line, which it splits as it does while typing.
std::vector<std::string> offers(const std::vector<std::string>& words) {
    const ScratchFolder scratch;
    writeFile(scratch.file("completion"), bashCompletion(WholeLine().line.describe()));
    writeFile(scratch.file("trace.json"), "");
    std::string line = "COMP_WORDS=(";
    for (const std::string& word : words)
        line += "'" + word + "' ";
    line += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) + "\n";
    writeFile(scratch.file("script"), "cd '" + scratch.path().string() + "'\nset -u\nsource ./completion\n" + line +
                                          "_bubblescope\nprintf '%s\\n' ${COMPREPLY[@]+\"${COMPREPLY[@]}\"} >offers\n");
    EXPECT_EQ(std::system(("bash '" + scratch.file("script") + "'").c_str()), 0);
    std::istringstream stream(readAll(scratch.file("offers")));
    std::vector<std::string> out;
    for (std::string word; stream >> word;)
        out.push_back(word);
    return out;
}

TEST(BashCompletion, OffersCommandsOptionsAndValues) {
    EXPECT_EQ(offers({"bubblescope", "anal"}), std::vector<std::string>{"analyze"});
    EXPECT_THAT(offers({"bubblescope", ""}), Contains("completion"));
    EXPECT_EQ(offers({"bubblescope", "aadiff", "pl"}), std::vector<std::string>{"plan"});
    EXPECT_EQ(offers({"bubblescope", "analyze", "--summ"}), std::vector<std::string>{"--summary"});
    EXPECT_THAT(offers({"bubblescope", "simulate", "--schedule", "zb-"}), Contains("zb-h1"));
    EXPECT_EQ(offers({"bubblescope", "analyze", "--clocks", "al"}), std::vector<std::string>{"align"});
    EXPECT_EQ(offers({"bubblescope", "analyze", "--clocks", "=", "al"}), std::vector<std::string>{"align"});
    EXPECT_EQ(offers({"bubblescope", "completion", "z"}), std::vector<std::string>{"zsh"});
    EXPECT_THAT(offers({"bubblescope", "analyze", "trace"}), Contains("trace.json"));
    EXPECT_THAT(offers({"bubblescope", "simulate", "--pp", ""}), IsEmpty());
    EXPECT_THAT(offers({"bubblescope", "simulate", "--"}), Not(Contains("--summary")));
}

/// Whether a program of the machine accepts a script or page; true where there is no such program.
bool acceptedBy(const std::string& program, const std::string& line, const std::string& text) {
    if (std::system(("command -v " + program + " >/dev/null").c_str()) != 0) return true;
    const ScratchFolder scratch;
    writeFile(scratch.file("input"), text);
    return std::system((line + " '" + scratch.file("input") + "' >/dev/null").c_str()) == 0;
}

TEST(Completion, IsTakenByItsShell) {
    const CommandInfo program = WholeLine().line.describe();
    EXPECT_TRUE(acceptedBy("bash", "bash -n", bashCompletion(program)));
    EXPECT_TRUE(acceptedBy("zsh", "zsh -n", zshCompletion(program)));
    EXPECT_TRUE(acceptedBy("fish", "fish --no-execute", fishCompletion(program)));
}

TEST(Completion, NamesEveryOptionOfEveryCommandInEveryShell) {
    const CommandInfo program = WholeLine().line.describe();
    const std::string bash = bashCompletion(program);
    const std::string zsh = zshCompletion(program);
    const std::string fish = fishCompletion(program);
    for (const CommandInfo& command : allCommands(program)) {
        EXPECT_THAT(bash, HasSubstr("'" + command.path + "'"));
        for (const OptionInfo& option : command.options) {
            if (option.positional) continue;
            const std::string& name = option.names.back();
            EXPECT_THAT(bash, HasSubstr(name)) << command.path;
            if (command.commands.empty()) {
                EXPECT_THAT(zsh, HasSubstr("*" + name + "[")) << command.path;
            }
            EXPECT_THAT(fish, HasSubstr("-l " + name.substr(2))) << command.path;
        }
    }
}

TEST(ManPages, AreCompleteAndWellFormed) {
    const CommandInfo program = WholeLine().line.describe();
    std::vector<CommandInfo> commands = allCommands(program);
    commands.push_back(program);
    for (const CommandInfo& command : commands) {
        const std::string page = manPage(command, "1.0");
        EXPECT_TRUE(acceptedBy("mandoc", "mandoc -T lint -W error", page)) << command.path;
        EXPECT_TRUE(acceptedBy("groff", "groff -Kutf8 -man -ww -Tascii -z", page)) << command.path;
        EXPECT_THAT(page, HasSubstr(".SH SYNOPSIS"));
        for (const OptionInfo& option : command.options) {
            std::string name = option.names.back();
            for (auto at = name.find('-'); at != std::string::npos; at = name.find('-', at + 2))
                name.replace(at, 1, "\\-");
            if (!isHelp(option)) {
                EXPECT_THAT(page, HasSubstr(name)) << command.path;
            }
        }
        std::istringstream lines(page);
        for (std::string line; std::getline(lines, line);) {
            if (!line.starts_with('.')) continue;
            EXPECT_THAT(line, testing::MatchesRegex(R"(\.(TH|SH|SS|TP|nf|fi)( .*)?)")) << command.path;
        }
    }
}

} // namespace
} // namespace bubblescope::cli::test
