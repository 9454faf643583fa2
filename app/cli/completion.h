#pragma once

#include "app/cli/command_line.h"

#include <string>

namespace bubblescope::cli {

/// Scripts with which a shell completes the program's commands, options and their values. Files are completed if a
/// value is a file. Names never contain words that are part of a shell's syntax.
[[nodiscard]] std::string bashCompletion(const CommandInfo& program);
[[nodiscard]] std::string zshCompletion(const CommandInfo& program);
[[nodiscard]] std::string fishCompletion(const CommandInfo& program);

/// The manual page of the program or one of its commands, in man's macros. `version` appears in its footer.
[[nodiscard]] std::string manPage(const CommandInfo& command, const std::string& version);
/// The name of a command's manual page: "bubblescope-aadiff-plan".
[[nodiscard]] std::string manPageName(const CommandInfo& command);

} // namespace bubblescope::cli
