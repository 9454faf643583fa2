#include "app/cli/completion.h"

#include "app/cli/help.h"
#include "core/base/shell_word.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace bubblescope::cli {
namespace {

/// The kind of value that a shell suggests.
enum class Offer { Nothing, Files, Folders, Choices };

Offer offerFor(const OptionInfo& option) {
    const std::string& name = option.positional ? option.names.front() : option.value;
    if (!option.choices.empty()) return Offer::Choices;
    if (name == "DIR" || name == "FOLDER" || name == "FOLDERS") return Offer::Folders;
    const bool file = name.starts_with("FILE") || name == "A" || name == "B" || name == "COMMAND";
    return file ? Offer::Files : Offer::Nothing;
}

/// Appends the command itself and all commands below it.
void flatten(const CommandInfo& command, std::vector<const CommandInfo*>& list) {
    list.push_back(&command);
    for (const CommandInfo& each : command.commands)
        flatten(each, list);
}

std::vector<const CommandInfo*> allCommands(const CommandInfo& program) {
    std::vector<const CommandInfo*> list;
    flatten(program, list);
    return list;
}

std::vector<std::string> namesOf(const CommandInfo& command) {
    std::vector<std::string> names;
    for (const CommandInfo& each : command.commands)
        names.push_back(each.name);
    return names;
}

/// The first sentence or clause of a description, because a shell shows one line.
std::string briefly(std::string_view about) {
    constexpr std::size_t kMost = 70;
    const auto end = about.find_first_of(";:");
    std::string text(about.substr(0, end));
    if (text.size() <= kMost) return text;
    const auto blank = text.rfind(' ', kMost);
    return text.substr(0, blank) + " …";
}

std::string bashOffer(const OptionInfo& option) {
    switch (offerFor(option)) {
    case Offer::Files: return "files=-f";
    case Offer::Folders: return "files=-d";
    case Offer::Choices: return fmt::format("words={}", inQuotes(fmt::format("{}", fmt::join(option.choices, " "))));
    case Offer::Nothing: break;
    }
    return "words=''";
}

/// The branch of the script's case statement for one command.
std::string bashCommand(const CommandInfo& command) {
    std::string text = fmt::format("    {})\n", inQuotes(command.path));
    std::string values;
    for (const OptionInfo& option : command.options) {
        if (!option.positional && !option.value.empty())
            values += fmt::format("            {}) {}; return ;;\n", fmt::join(option.names, "|"), bashOffer(option));
    }
    if (!values.empty()) text += "        case $before in\n" + values + "        esac\n";
    text += fmt::format("        options={}\n", inQuotes(fmt::format("{}", fmt::join(optionNames(command), " "))));
    if (!command.commands.empty())
        text += fmt::format("        words={}\n", inQuotes(fmt::format("{}", fmt::join(namesOf(command), " "))));
    const auto argument = std::ranges::find(command.options, true, &OptionInfo::positional);
    if (argument != command.options.end()) text += fmt::format("        {}\n", bashOffer(*argument));
    return text + "        ;;\n";
}

std::string zshText(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string zshAction(const OptionInfo& option) {
    switch (offerFor(option)) {
    case Offer::Files: return "_files";
    case Offer::Folders: return "_files -/";
    case Offer::Choices: return fmt::format("({})", fmt::join(option.choices, " "));
    case Offer::Nothing: break;
    }
    return " ";
}

std::string functionName(const CommandInfo& command) {
    std::string name = "_" + command.path;
    std::ranges::replace(name, ' ', '_');
    std::ranges::replace(name, '-', '_');
    return name;
}

std::string zshCommand(const CommandInfo& command) {
    std::string text = fmt::format("{}() {{\n", functionName(command));
    if (!command.commands.empty()) {
        text += "    local -a commands=(\n";
        for (const CommandInfo& each : command.commands)
            text +=
                fmt::format("        {}\n", inQuotes(fmt::format("{}:{}", each.name, zshText(briefly(each.about)))));
        text += "    )\n    local curcontext=$curcontext state line\n    _arguments -C '1: :->command' '*:: :->rest'\n"
                "    case $state in\n    command) _describe command commands ;;\n    rest)\n        case $line[1] in\n";
        for (const CommandInfo& each : command.commands)
            text += fmt::format("        {}) {} ;;\n", each.name, functionName(each));
        return text + "        esac\n        ;;\n    esac\n}\n";
    }
    text += "    _arguments";
    for (const OptionInfo& option : command.options) {
        if (option.positional) {
            text += fmt::format(" \\\n        {}", inQuotes(fmt::format("{}:{}:{}", option.repeats ? "*" : "",
                                                                        option.names.front(), zshAction(option))));
            continue;
        }
        for (const std::string& name : option.names) {
            std::string spec = fmt::format("*{}[{}]", name, zshText(briefly(option.about)));
            if (!option.value.empty()) spec += fmt::format(":{}:{}", zshText(option.value), zshAction(option));
            text += fmt::format(" \\\n        {}", inQuotes(spec));
        }
    }
    return text + "\n}\n";
}

std::string fishOption(const CommandInfo& command, const OptionInfo& option, const std::string& condition) {
    std::string text = fmt::format("complete -c bubblescope -n {}", inQuotes(condition));
    if (option.positional) {
        if (offerFor(option) == Offer::Choices)
            text += fmt::format(" -f -a {}", inQuotes(fmt::format("{}", fmt::join(option.choices, " "))));
        else if (offerFor(option) == Offer::Nothing)
            text += " -f";
        else
            text += " -F";
        return command.options.empty() ? std::string() : text + "\n";
    }
    for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.value.empty()) {
        switch (offerFor(option)) {
        case Offer::Files:
        case Offer::Folders: text += " -r -F"; break;
        case Offer::Choices:
            text += fmt::format(" -x -a {}", inQuotes(fmt::format("{}", fmt::join(option.choices, " "))));
            break;
        case Offer::Nothing: text += " -x"; break;
        }
    }
    return text + fmt::format(" -d {}\n", inQuotes(briefly(option.about)));
}

/// Condition in fish that is true if the line contains the command but none of its subcommands.
std::string fishCondition(const CommandInfo& command) {
    const auto first = command.path.find(' ');
    if (first == std::string::npos) return "__fish_use_subcommand";
    std::string words = command.path.substr(first + 1);
    std::string condition;
    std::size_t at = 0;
    while (at < words.size()) {
        const auto end = std::min(words.find(' ', at), words.size());
        condition += fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ",
                                 words.substr(at, end - at));
        at = end + 1;
    }
    if (!command.commands.empty())
        condition += fmt::format("; and not __fish_seen_subcommand_from {}", fmt::join(namesOf(command), " "));
    return condition;
}

/// Escapes text so that man shows it unchanged.
std::string manText(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
    return out;
}

} // namespace

std::string bashCompletion(const CommandInfo& program) {
    std::string commands;
    std::string arms;
    for (const CommandInfo* const command : allCommands(program)) {
        if (command != &program) commands += fmt::format("        {}) path=$next ;;\n", inQuotes(command->path));
        arms += bashCommand(*command);
    }
    return "# Completion of bubblescope in bash, made by `bubblescope completion bash`.\n"
           "# To use it:  source <(bubblescope completion bash)\n"
           "_bubblescope_offers() {\n    case $path in\n" +
           arms +
           "    esac\n}\n"
           "_bubblescope() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local path=bubblescope options= words= files= next word i\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        word=${COMP_WORDS[i]}\n"
           "        next=\"$path $word\"\n"
           "        case $next in\n" +
           commands +
           "        esac\n"
           "    done\n"
           "    # Bash takes \"--option=value\" apart at the sign.\n"
           "    if [[ $current == = ]]; then current=; elif [[ $before == = ]]; then "
           "before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
           "    _bubblescope_offers\n"
           "    COMPREPLY=()\n"
           "    if [[ $current == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
           "        return\n"
           "    fi\n"
           "    if [[ -n $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$current\")); fi\n"
           "    if [[ -n $files ]]; then\n"
           "        compopt -o filenames 2>/dev/null\n"
           "        mapfile -t COMPREPLY < <(compgen \"$files\" -- \"$current\")\n"
           "    fi\n"
           "}\n"
           "complete -F _bubblescope bubblescope\n";
}

std::string zshCompletion(const CommandInfo& program) {
    std::string text =
        "#compdef bubblescope\n# Completion of bubblescope in zsh, made by `bubblescope completion zsh`.\n"
        "# To use it, write it to a file _bubblescope in a folder of $fpath.\n";
    for (const CommandInfo* const command : allCommands(program))
        text += zshCommand(*command);
    return text + "if [[ $funcstack[1] == _bubblescope ]]; then _bubblescope \"$@\"; else compdef _bubblescope "
                  "bubblescope; fi\n";
}

std::string fishCompletion(const CommandInfo& program) {
    std::string text = "# Completion of bubblescope in fish, made by `bubblescope completion fish`.\n"
                       "# To use it:  bubblescope completion fish >~/.config/fish/completions/bubblescope.fish\n"
                       "complete -c bubblescope -f\n";
    for (const CommandInfo* const command : allCommands(program)) {
        const std::string condition = fishCondition(*command);
        for (const CommandInfo& each : command->commands) {
            text += fmt::format("complete -c bubblescope -n {} -f -a {} -d {}\n", inQuotes(condition), each.name,
                                inQuotes(briefly(each.about)));
        }
        for (const OptionInfo& option : command->options)
            text += fishOption(*command, option, condition);
    }
    return text;
}

std::string manPageName(const CommandInfo& command) {
    std::string name = command.path;
    std::ranges::replace(name, ' ', '-');
    return name;
}

std::string manPage(const CommandInfo& command, const std::string& version) {
    std::string title = manPageName(command);
    std::ranges::transform(title, title.begin(),
                           [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); });
    std::string text = fmt::format(".TH \"{}\" 1 \"\" \"{}\" \"Bubblescope\"\n", manText(title), manText(version));
    text += fmt::format(".SH NAME\n{} \\- {}\n", manText(manPageName(command)), manText(command.about));
    text += fmt::format(".SH SYNOPSIS\n.nf\n{}\n.fi\n",
                        manText(command.path.find(' ') == std::string::npos ? command.path + " COMMAND [OPTIONS]"
                                                                            : usageText(command)));
    if (!command.commands.empty()) {
        text += ".SH COMMANDS\n";
        for (const CommandInfo& each : command.commands)
            text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", manText(each.name), manText(each.about));
    }
    std::string arguments;
    for (const OptionInfo& option : command.options) {
        if (option.positional)
            arguments += fmt::format(".TP\n\\fI{}\\fR\n{}\n", manText(option.names.front()), manText(option.about));
    }
    if (!arguments.empty()) text += ".SH ARGUMENTS\n" + arguments;
    text += ".SH OPTIONS\n";
    for (const std::string& group : optionGroups(command)) {
        if (group != "Options") text += fmt::format(".SS \"{}\"\n", manText(group));
        for (const OptionInfo& option : command.options) {
            if (option.positional || option.group != group || isHelp(option)) continue;
            text += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", manText(fmt::format("{}", fmt::join(option.names, ", "))),
                                option.value.empty() ? "" : fmt::format(" \\fI{}\\fR", manText(option.value)),
                                manText(option.about));
        }
    }
    if (!command.examples.empty()) {
        text += ".SH EXAMPLES\n.nf\n";
        for (const std::string& line : command.examples)
            text += manText("bubblescope " + line) + "\n";
        text += ".fi\n";
    }
    text += ".SH EXIT STATUS\n0 success, 1 a finding listed in \\-\\-fail\\-on or an exceeded budget, 2 wrong usage, 3 "
            "unreadable or invalid input, 4 a run failed.\n";
    text += ".SH SEE ALSO\n\\fBbubblescope\\fR(1); the manual in /usr/share/doc/bubblescope/manual\n";
    return text;
}

} // namespace bubblescope::cli
