#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace bubblescope::cli {

/// The user's default values for options and thresholds. The file has lines of these forms:
///
///   # a comment
///   color = never                 an option that every command has, without its dashes
///   [analyze]                     a command, or [aadiff plan]
///   max-bubble = 20%              one of its options; a flag is "true" or "false"
///   [thresholds]
///   cost.least = 0.05             as `bubblescope anomalies --thresholds` lists them
struct Config {
    std::filesystem::path file; ///< path of the file, which may not exist; empty if the home folder is unknown
    bool exists = false;
    std::vector<OptionDefault> defaults; ///< in file order
};

/// Path of the configuration file: BUBBLESCOPE_CONFIG, or bubblescope/config in XDG_CONFIG_HOME or ~/.config.
[[nodiscard]] std::filesystem::path configFile();

/// Reads the file. Errors: Input, with file and line, if a line is malformed or if a command, option or threshold does
/// not exist.
[[nodiscard]] Result<Config> readConfig(const std::filesystem::path& file, const CommandInfo& program);
[[nodiscard]] Result<Config> configFrom(std::string_view text, const std::filesystem::path& file,
                                        const CommandInfo& program);

} // namespace bubblescope::cli
