#include "app/cli/help.h"

#include "core/report/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace bubblescope::cli {
namespace {

/// A row with two columns; a name that is too long for its column gets its own line.
std::string row(const std::string& name, const std::string& about, std::size_t column, std::size_t width) {
    const std::string head = "  " + name;
    if (about.empty()) return head + "\n";
    if (report::characters(head) + 2 > column)
        return head + "\n" + report::wrapped(std::string(column, ' '), about, width);
    return report::wrapped(head + std::string(column - report::characters(head), ' '), about, width);
}

/// Values that an option accepts, unless its description lists them.
std::string aboutText(const OptionInfo& option, bool all) {
    constexpr std::size_t kFewChoices = 12;
    const bool named = option.choices.empty() || option.about.find(option.choices.front()) != std::string::npos ||
                       option.value.find(option.choices.front()) != std::string::npos;
    if (named || !all || option.choices.size() > kFewChoices) return option.about;
    return fmt::format("{}: {}", option.about, fmt::join(option.choices, ", "));
}

std::string examplesText(const CommandInfo& command) {
    std::string text;
    for (const std::string& line : command.examples)
        text += fmt::format("  bubblescope {}\n", line);
    return text.empty() ? text : "\nExamples:\n" + text;
}

std::string programHelp(const CommandInfo& program, std::size_t width) {
    constexpr std::size_t kColumn = 15;
    std::string text = report::wrapped("", program.about, width);
    text += fmt::format("\nUsage: {} COMMAND [OPTIONS]\n", program.path);
    std::vector<std::string> groups;
    for (const CommandInfo& command : program.commands) {
        if (std::ranges::find(groups, command.group) == groups.end()) groups.push_back(command.group);
    }
    for (const std::string& group : groups) {
        text += group + ":\n";
        for (const CommandInfo& command : program.commands) {
            if (command.group == group) text += row(command.name, command.about, kColumn, width);
        }
    }
    text += examplesText(program).substr(program.examples.empty() ? 0 : 1);
    return text + report::wrapped("", program.footer, width);
}

/// Leaves space for the line with the number of remaining options.
constexpr std::ptrdiff_t kOptionLines = static_cast<std::ptrdiff_t>(kHelpLines) - 2;

/// Arguments, then the listed options by group.
std::string optionsText(const CommandInfo& command, const std::vector<const OptionInfo*>& listed, bool all,
                        std::size_t width) {
    constexpr std::size_t kWidestName = 32;
    std::size_t column = 12;
    for (const OptionInfo* const option : listed) {
        const std::size_t length = report::characters(typedOption(*option));
        if (length <= kWidestName) column = std::max(column, length + 4);
    }
    column = std::min(column, width / 2);
    std::string text;
    for (const OptionInfo& option : command.options) {
        if (option.positional) text += row(option.names.front(), aboutText(option, all), column, width);
    }
    if (!text.empty()) text.insert(0, "\n");
    for (const std::string& group : optionGroups(command)) {
        std::string options;
        for (const OptionInfo* const option : listed) {
            if (option->group == group) options += row(typedOption(*option), aboutText(*option, all), column, width);
        }
        if (!options.empty()) text += fmt::format("{}{}:\n{}", all ? "\n" : "", group, options);
    }
    return text;
}

} // namespace

bool isHelp(const OptionInfo& option) {
    return !option.positional && (option.names.back() == "--help" || option.names.back() == "--help-all");
}

std::string typedOption(const OptionInfo& option) {
    std::string text = fmt::format("{}", fmt::join(option.names, ", "));
    if (!option.value.empty()) text += " " + option.value;
    return text;
}

std::vector<std::string> optionGroups(const CommandInfo& command) {
    std::vector<std::string> groups;
    for (const OptionInfo& option : command.options) {
        if (!option.positional && !isHelp(option) && std::ranges::find(groups, option.group) == groups.end())
            groups.push_back(option.group);
    }
    return groups;
}

std::string usageText(const CommandInfo& command) {
    std::string text = command.path;
    if (!command.commands.empty()) return text + " COMMAND [OPTIONS]";
    text += " [OPTIONS]";
    for (const OptionInfo& option : command.options) {
        if (!option.positional) {
            if (option.required) text += " " + typedOption(option);
            continue;
        }
        const std::string name = option.names.front() + (option.repeats ? "..." : "");
        text += option.required ? " " + name : fmt::format(" [{}]", name);
    }
    return text;
}

std::string helpText(const CommandInfo& command, bool all, std::size_t wanted) {
    const std::size_t width = std::clamp<std::size_t>(wanted, 40, kHelpColumns);
    const bool program = command.path.find(' ') == std::string::npos;
    if (program) return programHelp(command, width);
    std::string text = report::wrapped("", command.about + ".", width);
    text += report::wrapped("Usage: ", usageText(command), width);
    text += examplesText(command);
    if (!command.commands.empty()) {
        text += "\nCommands:\n";
        for (const CommandInfo& each : command.commands)
            text += row(each.name, each.about, 12, width);
        return text;
    }
    std::vector<const OptionInfo*> listed;
    std::size_t options = 0;
    for (const OptionInfo& option : command.options) {
        if (option.positional || isHelp(option) || option.group.empty()) continue;
        ++options;
        if (all || !option.rare) listed.push_back(&option);
    }
    // If the common options do not fit on a screen, the last ones are dropped.
    std::string rest = optionsText(command, listed, all, width);
    while (!all && !listed.empty() && std::ranges::count(text + rest, '\n') > kOptionLines) {
        listed.pop_back();
        rest = optionsText(command, listed, all, width);
    }
    text += rest;
    if (listed.size() < options)
        text += fmt::format("\n{} more options: {} --help-all\n", options - listed.size(), command.path);
    return text;
}

} // namespace bubblescope::cli
