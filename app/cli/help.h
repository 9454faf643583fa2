#pragma once

#include "app/cli/command_line.h"

#include <cstddef>
#include <string>
#include <vector>

namespace bubblescope::cli {

/// Maximum number of lines and columns in the help of a command, so that the help fits on a screen.
inline constexpr std::size_t kHelpLines = 40;
inline constexpr std::size_t kHelpColumns = 100;

/// Help of a command: purpose, usage, examples, and the options by group (including rare ones if `all` is set). Help of
/// the program: the list of commands. `width` is the maximum line length; it is clamped to the range from 40 to
/// kHelpColumns.
[[nodiscard]] std::string helpText(const CommandInfo& command, bool all, std::size_t width = kHelpColumns);

/// Usage line, such as "bubblescope diff [OPTIONS] A B".
[[nodiscard]] std::string usageText(const CommandInfo& command);

/// An option as a user types it, such as "--pp P" or "-h, --help".
[[nodiscard]] std::string typedOption(const OptionInfo& option);

/// Headings of a command's option groups, in order of first use.
[[nodiscard]] std::vector<std::string> optionGroups(const CommandInfo& command);

/// True for the options that only show help.
[[nodiscard]] bool isHelp(const OptionInfo& option);

} // namespace bubblescope::cli
