#include "app/cli/help.h"
#include "core/base/field.h"
#include "core/base/suggestion.h"
#include "core/report/text.h"
#include "tests/unit/cli/whole_line.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace bubblescope::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> linesOf(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

/// The words of a line as a shell takes them apart; examples have no quotes.
std::vector<std::string> wordsOf(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

TEST(Help, OfEveryCommandFitsAScreen) {
    const CommandInfo program = WholeLine().line.describe();
    std::vector<CommandInfo> commands = allCommands(program);
    commands.push_back(program);
    ASSERT_GT(commands.size(), 30U);
    for (const CommandInfo& command : commands) {
        const std::vector<std::string> lines = linesOf(helpText(command, false));
        EXPECT_LE(lines.size(), kHelpLines) << command.path << "\n" << helpText(command, false);
        for (const std::string& line : lines)
            EXPECT_LE(report::characters(line), kHelpColumns) << command.path << ": " << line;
    }
}

TEST(Help, EveryFieldThatMessagesNameIsAnOption) {
    std::vector<std::string> options;
    for (const CommandInfo& command : allCommands(WholeLine().line.describe()))
        std::ranges::copy(optionNames(command), std::back_inserter(options));
    for (const std::string_view name : kFields) {
        std::string option = fmt::format("--{}", name);
        std::ranges::replace(option, '_', '-');
        EXPECT_THAT(options, testing::Contains(option));
    }
}

TEST(Help, OfAllOptionsKeepsToItsWidth) {
    for (const CommandInfo& command : allCommands(WholeLine().line.describe())) {
        for (const std::size_t width : {60U, 80U, 100U}) {
            for (const std::string& line : linesOf(helpText(command, true, width))) {
                const bool one_word = line.find_first_of(' ', line.find_first_not_of(' ')) == std::string::npos;
                const bool example = line.starts_with("  bubblescope ");
                if (!one_word && !example) {
                    EXPECT_LE(report::characters(line), width) << command.path << ": " << line;
                }
            }
        }
    }
}

TEST(Help, HasNoNoiseAndNamesWhatItHides) {
    for (const CommandInfo& command : allCommands(WholeLine().line.describe())) {
        const std::string help = helpText(command, true);
        EXPECT_THAT(help, Not(HasSubstr("Excludes"))) << command.path;
        EXPECT_THAT(help, Not(HasSubstr("Needs:"))) << command.path;
        for (const OptionInfo& option : command.options) {
            if (isHelp(option)) continue;
            EXPECT_THAT(help, HasSubstr(typedOption(option))) << command.path;
            EXPECT_FALSE(option.about.empty()) << command.path << " " << option.names.back();
        }
        const bool hides = std::ranges::any_of(command.options, [](const OptionInfo& option) { return option.rare; });
        if (hides) {
            EXPECT_THAT(helpText(command, false), HasSubstr("--help-all")) << command.path;
        }
    }
}

TEST(Help, ShowsTwoExamplesThatParse) {
    for (const CommandInfo& command : allCommands(WholeLine().line.describe())) {
        EXPECT_GE(command.examples.size(), command.path == "bubblescope mcp" ? 1U : 2U)
            << command.path; // it takes nothing
        for (const std::string& example : command.examples) {
            WholeLine whole;
            EXPECT_EQ(whole.line.parse(wordsOf(example), true), std::nullopt) << example;
            EXPECT_TRUE(whole.action) << example;
            const std::string own = command.path.substr(command.path.find(' ') + 1);
            EXPECT_TRUE(example.starts_with(own)) << example << " is not an example of " << own;
        }
    }
}

/// The errors of a line with wrong words, and its exit code.
std::string complaint(const std::vector<std::string>& words) {
    testing::internal::CaptureStderr();
    const auto ended = WholeLine().line.parse(words, true);
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(ended, 2) << text;
    // Lines are broken to fit.
    for (auto at = text.find("\n  "); at != std::string::npos; at = text.find("\n  ", at))
        text.replace(at, 3, " ");
    return text;
}

TEST(TypingErrors, AreAnsweredByWhatWasMeant) {
    EXPECT_THAT(complaint({"analyse", "x"}), HasSubstr("unknown command 'analyse'; did you mean 'analyze'?"));
    EXPECT_THAT(complaint({"--verison"}), HasSubstr("unknown option '--verison'; did you mean '--version'?"));
    EXPECT_THAT(complaint({"aadiff", "paln"}), HasSubstr("did you mean 'plan'?"));
    EXPECT_THAT(complaint({"aadiff"}), HasSubstr("run, compare, plan"));
    EXPECT_THAT(complaint({"analyze", "x", "--sumary"}), HasSubstr("did you mean '--summary'?"));
    EXPECT_THAT(complaint({"analyze", "x", "--sumary=1"}), HasSubstr("did you mean '--summary'?"));
    EXPECT_THAT(complaint({"analyze", "x", "--clocks", "aling"}),
                HasSubstr("'aling' is not one of auto, align, off; did you mean 'align'?"));
    EXPECT_THAT(complaint({"analyze"}), HasSubstr("FILES is missing"));
    EXPECT_THAT(complaint({"run", "--steps", "many"}), HasSubstr("'many' is not a number from 1 to 1000000"));
    EXPECT_THAT(complaint({"simulate", "--schedule", "1f1b", "--schedule-file", "x"}), HasSubstr("cannot be combined"));
    EXPECT_THAT(complaint({"validate", "a", "b"}), HasSubstr("unexpected argument 'b'"));
    EXPECT_THAT(complaint({"completion", "tcsh"}), HasSubstr("bash, zsh, fish"));
}

TEST(TypingErrors, OfFarWordsAreNotGuessed) {
    EXPECT_THAT(complaint({"frobnicate"}), Not(HasSubstr("did you mean")));
    EXPECT_EQ(closestName("x", {"analyze", "run"}), "");
    EXPECT_EQ(closestName("analyse", {"analyze", "run"}), "analyze");
    EXPECT_EQ(closestName("sched", {"schedule", "run"}), "schedule") << "the beginning of a name";
    EXPECT_EQ(editDistance("verison", "version"), 1U) << "neighbours that are exchanged";
    EXPECT_EQ(editDistance("", "abc"), 3U);
    EXPECT_EQ(editDistance("kitten", "sitting"), 3U);
}

} // namespace
} // namespace bubblescope::cli::test
