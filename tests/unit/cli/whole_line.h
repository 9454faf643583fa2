#pragma once

#include "app/cli/command.h"

#include <string>
#include <vector>

namespace bubblescope::cli::test {

/// The program's line with all its commands, which parses and does nothing.
struct WholeLine {
    CommandLine line{"Bubblescope", "bubblescope", "bubblescope 0.0.0", "Exit codes"};
    Action action;
    TerminalOptions terminal;
    Config config;

    WholeLine() { addCommands(line, action, nullptr, terminal, config); }
};

/// Every command that can be run, and those that have commands.
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
