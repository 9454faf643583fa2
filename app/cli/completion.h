#pragma once

#include "app/cli/command_line.h"

#include <string>

namespace bubblescope::cli {

/// Scripts for shell completion of the program's commands, options and values, including file names. Names must not
/// contain characters that are special in a shell.
[[nodiscard]] std::string bashCompletion(const CommandInfo& program);
[[nodiscard]] std::string zshCompletion(const CommandInfo& program);
[[nodiscard]] std::string fishCompletion(const CommandInfo& program);

/// Manual page of the program or one of its commands, in man macros. `version` appears in the footer.
[[nodiscard]] std::string manPage(const CommandInfo& command, const std::string& version);
/// Name of a command's manual page, such as "bubblescope-aadiff-plan".
[[nodiscard]] std::string manPageName(const CommandInfo& command);

} // namespace bubblescope::cli
