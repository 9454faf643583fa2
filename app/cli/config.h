#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace bubblescope::cli {

/// A user's own default values. Lines of the file:
///
///   # a remark
///   color = never                 an option that every command has, without its dashes
///   [analyze]                     a command, or [aadiff plan]
///   max-bubble = 20%              one of its options; a flag is "true" or "false"
///   [thresholds]
///   cost.least = 0.05             as `bubblescope anomalies --thresholds` lists them
struct Config {
    std::filesystem::path file; ///< the file that was or would be read; empty without a home folder
    bool exists = false;
    std::vector<OptionDefault> defaults; ///< in file order
};

/// The path of the file: BUBBLESCOPE_CONFIG, or bubblescope/config in XDG_CONFIG_HOME or ~/.config.
[[nodiscard]] std::filesystem::path configFile();

/// Reads the file. Errors: Input, naming the file and the line, for lines of a different form, and for commands,
/// options and thresholds that do not exist.
[[nodiscard]] Result<Config> readConfig(const std::filesystem::path& file, const CommandInfo& program);
[[nodiscard]] Result<Config> configFrom(std::string_view text, const std::filesystem::path& file,
                                        const CommandInfo& program);

} // namespace bubblescope::cli
