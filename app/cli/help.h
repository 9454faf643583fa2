#pragma once

#include "app/cli/command_line.h"

#include <cstddef>
#include <string>
#include <vector>

namespace bubblescope::cli {

/// Maximum lines and columns of any command's help, so that it fits a screen.
inline constexpr std::size_t kHelpLines = 40;
inline constexpr std::size_t kHelpColumns = 100;

/// The purpose of a command, its usage and examples, and its options by group, either the common ones or all of them.
/// For the program itself, its commands. Lines have at most `width` characters, which is limited to the range from 40
/// to kHelpColumns.
[[nodiscard]] std::string helpText(const CommandInfo& command, bool all, std::size_t width = kHelpColumns);

/// "bubblescope diff [OPTIONS] A B"
[[nodiscard]] std::string usageText(const CommandInfo& command);

/// An option as typed by a user: "--pp P", "-h, --help".
[[nodiscard]] std::string typedOption(const OptionInfo& option);

/// The headings of a command's options, in the order of their first use.
[[nodiscard]] std::vector<std::string> optionGroups(const CommandInfo& command);

/// True if an option only shows help.
[[nodiscard]] bool isHelp(const OptionInfo& option);

} // namespace bubblescope::cli
