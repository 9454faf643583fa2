#pragma once

#include "app/cli/command_line.h"

#include <string>

namespace bubblescope::cli {

/// Scripts that teach a shell to complete the program's commands, options and their values. Files are completed where a
/// value is a file; words that a shell takes as its own syntax do not occur in names.
[[nodiscard]] std::string bashCompletion(const CommandInfo& program);
[[nodiscard]] std::string zshCompletion(const CommandInfo& program);
[[nodiscard]] std::string fishCompletion(const CommandInfo& program);

/// The manual page of the program or of one of its commands, in man's macros. `version` is printed in its footer.
[[nodiscard]] std::string manPage(const CommandInfo& command, const std::string& version);
/// "bubblescope-aadiff-plan": the name of a command's manual page.
[[nodiscard]] std::string manPageName(const CommandInfo& command);

} // namespace bubblescope::cli
