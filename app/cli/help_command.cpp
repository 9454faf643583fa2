#include "app/cli/command.h"
#include "app/cli/completion.h"
#include "app/cli/help.h"
#include "app/cli/output.h"
#include "app/cli/terminal.h"
#include "core/base/suggestion.h"
#include "core/formats/source/replacing_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope::cli {
namespace {

struct HelpArguments {
    std::vector<std::string> words;
    std::string man_pages;
    bool all = false;
};

Status writeManPages(const CommandInfo& command, const std::filesystem::path& folder) {
    ReplacingFile file(folder / (manPageName(command) + ".1"));
    file.write(manPage(command, "Bubblescope " BUBBLESCOPE_VERSION));
    BUBBLESCOPE_TRY(file.commit());
    for (const CommandInfo& each : command.commands)
        BUBBLESCOPE_TRY(writeManPages(each, folder));
    return {};
}

CommandResult help(const HelpArguments& options, const CommandInfo& program) {
    if (!options.man_pages.empty()) {
        BUBBLESCOPE_TRY(makeFolder(options.man_pages));
        BUBBLESCOPE_TRY(writeManPages(program, options.man_pages));
        return 0;
    }
    const NamedCommand named = commandNamed(program, options.words);
    if (named.words < options.words.size()) {
        std::vector<std::string> names;
        for (const CommandInfo& each : named.command->commands)
            names.push_back(each.name);
        const std::string& word = options.words[named.words];
        return usageError(fmt::format("{} has no command '{}'{}", named.command->path, word, didYouMean(word, names)),
                          "`bubblescope help` lists the commands");
    }
    printText(helpText(*named.command, options.all, outputWidth()));
    return 0;
}

CommandResult complete(const std::string& shell, const CommandInfo& program) {
    printText(shell == "bash"  ? bashCompletion(program)
              : shell == "zsh" ? zshCompletion(program)
                               : fishCompletion(program));
    return 0;
}

} // namespace

void addHelpCommand(Command app, Action& action, const CommandLine& line) {
    const Command command = app.addCommand("help", "Print the help of a command");
    const auto options = std::make_shared<HelpArguments>();
    command.addOption("COMMAND", options->words, "The command, such as analyze or aadiff plan");
    command.addFlag("--all", options->all, "Include all options");
    command
        .addOption("--man-pages", options->man_pages,
                   "Write a man page per command to this folder, instead of printing help")
        .typeName("FOLDER")
        .rare();
    command.examples({"help analyze", "help --all run"});
    command.onParsed(
        [&action, options, &line] { action = [options, &line] { return help(*options, line.describe()); }; });
}

void addCompletionCommand(Command app, Action& action, const CommandLine& line) {
    const Command command = app.addCommand("completion", "Print a shell completion script");
    const auto shell = std::make_shared<std::string>();
    command.addOption("SHELL", *shell, "bash, zsh or fish").required().oneOf({"bash", "zsh", "fish"});
    command.examples({"completion bash", "completion zsh"});
    command.onParsed(
        [&action, shell, &line] { action = [shell, &line] { return complete(*shell, line.describe()); }; });
}

} // namespace bubblescope::cli
