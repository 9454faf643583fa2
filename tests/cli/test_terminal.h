#pragma once

#include "tests/cli/program.h"

#include <string>
#include <vector>

namespace bubblescope::test {

/// A terminal that a program runs in.
struct TestTerminal {
    int columns = 80;
    int lines = 24;
    std::vector<std::string> variables; ///< "NAME=VALUE"
};

/// Whether this machine makes terminals: a bare root without /dev/pts does not.
[[nodiscard]] bool terminalsAreThere();

/// Runs the built `bubblescope` in a terminal of its own until it ends. `out` is all that the terminal received, from
/// both its outputs, with plain line ends.
[[nodiscard]] ProgramResult runInTerminal(const TestTerminal& terminal, const std::vector<std::string>& arguments);

} // namespace bubblescope::test
