#pragma once

#include "app/cli/command.h"

#include <vector>

namespace bubblescope::cli::test {

/// The command line with all commands, which is parsed without running a command.
struct WholeLine {
    CommandLine line{"Bubblescope", "bubblescope", "bubblescope 0.0.0", "Exit codes"};
    Action action;
    TerminalOptions terminal;
    Config config;

    WholeLine() { addCommands(line, action, nullptr, terminal, config); }
};

/// Collects every command that can be run, and those with subcommands.
inline void collect(const CommandInfo& command, std::vector<CommandInfo>& list) {
    list.push_back(command);
    for (const CommandInfo& each : command.commands)
        collect(each, list);
}

inline std::vector<CommandInfo> allCommands(const CommandInfo& program) {
    std::vector<CommandInfo> list;
    for (const CommandInfo& each : program.commands)
        collect(each, list);
    return list;
}

} // namespace bubblescope::cli::test
